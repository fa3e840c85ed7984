"""Finds the CUDA toolkit and NCCL; both are optional.

The repository @cuda has, in every case,

  :cudart_headers, :nccl_headers   the headers alone, so that objects can be linked with other
                                   libraries than the real ones (tests do)
  :cudart, :nccl                   the shared libraries with their headers
  found.bzl                        NCCL_FOUND, and NCCL_MISSING, a text that says what was looked for

Where CUDA or NCCL is missing, or MUSTER_WITHOUT_CUDA=1 is set, the targets are empty and NCCL_FOUND
is False.
"""

_CUDA_HEADER = "cuda_runtime_api.h"
_NCCL_HEADER = "nccl.h"
_INCLUDES = ["include", "targets/x86_64-linux/include", "targets/sbsa-linux/include"]
_LIBRARIES = [
    "lib64",
    "lib",
    "targets/x86_64-linux/lib",
    "targets/sbsa-linux/lib",
    "lib/x86_64-linux-gnu",
    "lib/aarch64-linux-gnu",
]

def _environment(ctx, names):
    return [ctx.os.environ[name] for name in names if ctx.os.environ.get(name)]

# Where tools/install-deps --cuda puts NVIDIA's wheels.
def _own_roots(ctx):
    if ctx.os.environ.get("MUSTER_CUDA_HOME"):
        return [ctx.os.environ["MUSTER_CUDA_HOME"]]
    data = ctx.os.environ.get("XDG_DATA_HOME")
    if not data and ctx.os.environ.get("HOME"):
        data = ctx.os.environ["HOME"] + "/.local/share"
    return [data + "/muster/cuda"] if data else []

# The first root that has the header and the library, as a struct; None if there is none.
def _find(ctx, roots, header, library):
    for root in roots:
        for include in _INCLUDES:
            for lib in _LIBRARIES:
                if (ctx.path(root + "/" + include + "/" + header).exists and
                    ctx.path(root + "/" + lib + "/" + library).exists):
                    return struct(root = root, include = root + "/" + include, lib = root + "/" + lib)
    return None

# The compiler searches /usr/include by itself. Of other roots the headers are linked into this
# repository one by one: a root may be a directory of many gigabytes.
def _headers_target(ctx, name, found, header):
    if not found or found.root == "/usr":
        return "cc_library(name = \"%s\")\n" % name
    if header:
        ctx.symlink(found.include + "/" + header, name + "/" + header)
    else:
        ctx.symlink(found.include, name)
    return """cc_library(
    name = "{name}",
    hdrs = glob(["{name}/" + pattern for pattern in [
        "*.h",
        "*.hpp",
        "crt/**",
        "nv/**",
        "cccl/nv/**",
    ]]),
    includes = ["{name}", "{name}/cccl"],
)
""".format(name = name)

def _library_target(name, found, linkopt):
    if not found:
        linkopts = []
    elif found.root == "/usr":
        linkopts = [linkopt]
    else:
        linkopts = ["-L" + found.lib, "-Wl,-rpath," + found.lib, linkopt]
    return """cc_library(
    name = "{name}",
    linkopts = {linkopts},
    deps = [":{name}_headers"],
)
""".format(name = name, linkopts = linkopts)

def _missing_text(cuda, nccl, cuda_roots, nccl_roots):
    texts = []
    if not cuda:
        texts.append("the CUDA runtime (%s, libcudart.so) is not in %s" %
                     (_CUDA_HEADER, ", ".join(cuda_roots)))
    if not nccl:
        texts.append("NCCL (%s, libnccl.so) is not in %s" % (_NCCL_HEADER, ", ".join(nccl_roots)))
    if not texts:
        return ""
    return (" and ".join(texts) +
            "; run tools/install-deps --cuda, or set CUDA_PATH (and NCCL_PATH where NCCL is elsewhere)")

def _cuda_repository_impl(ctx):
    fixed = ["/usr/local/cuda"] + _own_roots(ctx) + ["/usr"]
    cuda_roots = _environment(ctx, ["CUDA_PATH"]) + fixed
    nccl_roots = _environment(ctx, ["NCCL_PATH", "NCCL_HOME", "CUDA_PATH"]) + fixed
    without = ctx.os.environ.get("MUSTER_WITHOUT_CUDA") == "1"
    cuda = None if without else _find(ctx, cuda_roots, _CUDA_HEADER, "libcudart.so")
    nccl = None if without else _find(ctx, nccl_roots, _NCCL_HEADER, "libnccl.so")
    ctx.file("BUILD.bazel", "package(default_visibility = [\"//visibility:public\"])\n" +
                            _headers_target(ctx, "cudart_headers", cuda, None) +
                            _headers_target(ctx, "nccl_headers", nccl, _NCCL_HEADER) +
                            _library_target("cudart", cuda, "-lcudart") +
                            _library_target("nccl", nccl, "-lnccl"))
    missing = ("MUSTER_WITHOUT_CUDA=1 is set" if without else
               _missing_text(cuda, nccl, cuda_roots, nccl_roots))
    ctx.file("found.bzl", "NCCL_FOUND = %s\nNCCL_MISSING = %s\n" % (missing == "", repr(missing)))
    if missing:
        print("NCCL targets are skipped: " + missing)  # buildifier: disable=print

cuda_repository = repository_rule(
    implementation = _cuda_repository_impl,
    environ = [
        "CUDA_PATH",
        "NCCL_PATH",
        "NCCL_HOME",
        "MUSTER_CUDA_HOME",
        "XDG_DATA_HOME",
        "HOME",
        "MUSTER_WITHOUT_CUDA",
    ],
    local = True,
    doc = "Looks in CUDA_PATH (NCCL_PATH or NCCL_HOME first, for NCCL), then in /usr/local/cuda, " +
          "where tools/install-deps --cuda puts things, and /usr.",
)
