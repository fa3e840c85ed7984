"""The targets of a repository of NCCL's sources, such as @nccl_2_30_7:

  :headers         this version's nccl.h
  :source_headers  this version's own headers, for kernels that read its structures
  :libnccl.so.2    NCCL's host code, with the CPU kernels of //tests/nccl/real/kernels in place of GPU kernels

If the sources are not installed, these targets, and the tests that use them, are incompatible with this machine.
Bazel compiles NCCL file by file, so --config=asan and --config=tsan instrument NCCL itself.
"""

_SOURCE = "source/src"

# Files that CMake and the Makefile leave out too: separate programs, code for Windows, and a shim that hides
# differences between CUDA's runtimes if one is linked statically.
_NOT_OF_THE_LIBRARY = [
    "device/**",
    "enhcompat.cc",
    "include/**",
    "os/windows*.cc",
    "param/ncclparam.cc",
    "ras/client.cc",
    "transport/net_*_stub.cc",
]

_INCLUDES = [
    "include",
    "include/plugin",
    "device",
    "",
    "transport/gdaki/doca-gpunetio/include",
    "transport/net_ib/gdaki/doca-gpunetio/include",
]

# The definitions of NCCL's Makefile, whose release build keeps assertions. The sanitizer for undefined behaviour is
# off, since it checks Muster only.
_COPTS = [
    "-std=c++17",
    "-w",
    "-O1",
    "-UNDEBUG",
    "-fvisibility=hidden",
    "-fno-sanitize=undefined",
    "-DCUDA_MAJOR=13",
    "-DCUDA_MINOR=0",
    "-DNCCL_OS_LINUX",
    "-DNCCL_GIN_PROXY_ENABLE=1",
    "-DDOCA_VERBS_USE_CUDA_WRAPPER",
    "-DDOCA_VERBS_USE_NET_WRAPPER",
]

# NCCL's scripts, and their output for the host: tables of kernels.
_TABLES = {
    "device/generate.py": "host_table.cc",
    "device/symmetric/generate.py": "sym*.cc",
}

# The fake CUDA runtime, which NCCL finds by its name at run time.
_CUDART = "@muster//tests/nccl/cuda:lib/libcudart.so.13"

_CUDART_HEADERS = str(Label("@cuda//:cudart_headers"))

_KERNELS = "@muster//tests/nccl/real/kernels:sources"

_CPU_KERNEL = "@muster//tests/nccl/cuda:cpu_kernel"

_STUBS = "@muster//bazel:nccl_stubs.sh"

_COMPAT_HEADERS = "@muster//tests/nccl/real/compat"

_COMPAT = "tests/nccl/real/compat"

# Extra options for some versions. NCCL 2.22 is older than the toolkit, and 2.28 gets <limits> only through nvcc's
# headers (src/graph/tuning.cc).
_COPTS_OF = {
    "2.22": ["-include", _COMPAT + "/cuda_12.h"],
    "2.28": ["-include", "limits"],
}

# The name appears in Bazel's error when the sources of a target are missing.
_CONSTRAINT = "run_tools_install_nccl_source"

def _files(patterns, exclude = []):
    return native.glob(
        [_SOURCE + "/" + pattern for pattern in patterns],
        exclude = [_SOURCE + "/" + pattern for pattern in exclude],
    )

def _generate_header(version, compatible):
    major, minor, patch = version.split(".")
    values = {
        "Major": major,
        "Minor": minor,
        "Patch": patch,
        "Suffix": "",
        "Version": str(int(major) * 10000 + int(minor) * 100 + int(patch)),
    }
    native.genrule(
        name = "nccl_h",
        srcs = _files(["nccl.h.in"]),
        outs = ["include/nccl.h"],
        cmd = "sed %s $< > $@" % " ".join(["-e 's/$${nccl:%s}/%s/g'" % pair for pair in values.items()]),
        target_compatible_with = compatible,
    )
    native.genrule(
        name = "git_version",
        outs = ["include/nccl_git_version.h"],
        cmd = "printf '#define NCCL_GIT_%%s\\n' 'BRANCH \"v%s-1\"' 'COMMIT_HASH \"\"' > $@" % version,
        target_compatible_with = compatible,
    )

# Declares the rules that generate the tables. Returns the generated files.
def _generate_tables(compatible):
    tables = []
    for script, files in _TABLES.items():
        if _files([script]):
            table = "tables/" + script.replace("/", "_").replace(".py", ".cc")
            native.genrule(
                name = table + "_generate",
                srcs = _files([script]),
                outs = [table],
                cmd = "folder=$$(mktemp -d) && python3 -B $< $$folder > /dev/null && " +
                      "cat $$folder/%s > $@ && rm -r $$folder" % files,
                target_compatible_with = compatible,
            )
            tables.append(table)
    return tables

def _headers(compatible):
    native.cc_library(
        name = "headers",
        hdrs = ["include/nccl.h"],
        includes = ["include"],
        target_compatible_with = compatible,
        deps = [_CUDART_HEADERS],
    )
    native.cc_library(
        name = "source_headers",
        hdrs = _files(["**/*.h", "**/*.hpp", "**/*.cuh"]) + ["include/nccl_git_version.h"],
        target_compatible_with = compatible,
        deps = [
            ":headers",
            _COMPAT_HEADERS,
        ],
    )

# Returns the include options. NCCL's own headers come first, since the toolkit has an nccl.h of another version.
def _include_options():
    repository = "external/" + native.repository_name()[1:]
    folders = ["/".join([repository, _SOURCE, folder]) for folder in _INCLUDES]
    return ["-I$(GENDIR)/%s/include" % repository] + ["-I" + folder for folder in folders + [_COMPAT]]

# Generates the symbols that only code for GPUs defines. Kernels become jumps to the function that runs them on the
# CPU. DOCA's functions for InfiniBand are never called. The names are known once NCCL is linked.
def _stubs(compatible):
    native.cc_binary(
        name = "unresolved.so",
        linkopts = ["-Wl,--unresolved-symbols=ignore-all"],
        linkshared = True,
        target_compatible_with = compatible,
        deps = [":host_code"],
    )
    native.genrule(
        name = "stubs_generate",
        srcs = [":unresolved.so"],
        outs = ["stubs.S"],
        cmd = "$(location %s) $< > $@" % _STUBS,
        target_compatible_with = compatible,
        tools = [_STUBS],
    )

def nccl_source_targets(home, version):
    """Declares the targets.

    Args:
      home: the folder that should have the sources, for messages.
      version: of NCCL.
    """
    found = native.glob([_SOURCE + "/init.cc"])
    compatible = [] if found else [":" + _CONSTRAINT]
    if not found:
        # buildifier: disable=print
        print("tests on NCCL %s are skipped: its sources are not in %s; run tools/install-nccl-source" % (version, home))
    native.constraint_setting(name = "sources_of_nccl")
    native.constraint_value(name = _CONSTRAINT, constraint_setting = ":sources_of_nccl")

    copts = _COPTS + _include_options() + _COPTS_OF.get(version.rpartition(".")[0], [])
    _generate_header(version, compatible)
    _headers(compatible)
    native.cc_library(
        name = "host_code",
        srcs = _files(["**/*.cc"], exclude = _NOT_OF_THE_LIBRARY) + _generate_tables(compatible),
        copts = copts,
        linkopts = ["-lpthread", "-lrt", "-ldl"],
        target_compatible_with = compatible,
        deps = [":source_headers"],
        alwayslink = True,
    )
    native.cc_library(
        name = "kernels",
        srcs = [_KERNELS],
        copts = copts + ["-O2"],
        target_compatible_with = compatible,
        deps = [
            ":source_headers",
            _CPU_KERNEL,
        ],
        alwayslink = True,
    )
    _stubs(compatible)
    native.cc_binary(
        name = "libnccl.so.2",
        srcs = [":stubs.S"],
        additional_linker_inputs = [_CUDART],
        linkopts = [
            "-Wl,-soname,libnccl.so.2",
            "$(location %s)" % _CUDART,
        ],
        linkshared = True,
        target_compatible_with = compatible,
        deps = [
            ":host_code",
            ":kernels",
        ],
    )
