"""The targets of the repository @cuda, made from the files that exist when its BUILD file is loaded:

  :cudart_headers, :nccl_headers   the headers alone, so that objects can be linked with other
                                   libraries than the real ones, as tests do
  :cudart, :nccl                   the shared libraries with their headers
  :found                           a condition for select()

If CUDA or NCCL is missing, or MUSTER_WITHOUT_CUDA=1 is set, these libraries and their dependents are
incompatible with this machine. `bazel build //...` and `bazel test //...` then skip them. If a user
names such a target, Bazel's error says why it cannot be built.
"""

CUDA_HEADER = "cuda_runtime_api.h"
CUDA_LIBRARY = "libcudart.so"
NCCL_HEADER = "nccl.h"
NCCL_LIBRARY = "libnccl.so"

INCLUDE_FOLDERS = ["include", "targets/x86_64-linux/include", "targets/sbsa-linux/include"]
LIBRARY_FOLDERS = [
    "lib64",
    "lib",
    "targets/x86_64-linux/lib",
    "targets/sbsa-linux/lib",
    "lib/x86_64-linux-gnu",
    "lib/aarch64-linux-gnu",
]

def _bool_setting_impl(_ctx):
    return []

_bool_setting = rule(implementation = _bool_setting_impl, build_setting = config.bool())

# Returns the first of `folders` below `root` that contains `file`, or None.
def _folder_with(kind, root, folders, file):
    for folder in folders:
        if native.glob([kind + root + "/" + folder + "/" + file]):
            return root + "/" + folder
    return None

# Returns the first root that has the header and the library, as a struct, or None.
def _find(kind, roots, header, library):
    for root in roots:
        include = _folder_with(kind, root, INCLUDE_FOLDERS, header)
        lib = _folder_with(kind, root, LIBRARY_FOLDERS, library)
        if include and lib:
            return struct(root = root, include = include, lib = lib)
    return None

# Leaves out /usr/include, which the compiler always searches.
def _headers(name, found, kind, patterns, subfolders, deps = []):
    folder = kind + found.include if found and found.root != "/usr" else None
    native.cc_library(
        name = name,
        hdrs = native.glob([folder + "/" + pattern for pattern in patterns]) if folder else [],
        includes = [folder + subfolder for subfolder in subfolders] if folder else [],
        target_compatible_with = _ONLY_WHERE_FOUND,
        deps = deps,
    )

def _library(name, found, linkopt):
    search = ["-L" + found.lib, "-Wl,-rpath," + found.lib] if found and found.root != "/usr" else []
    native.cc_library(
        name = name,
        linkopts = search + [linkopt],
        target_compatible_with = _ONLY_WHERE_FOUND,
        deps = [":" + name + "_headers"],
    )

def _missing_text(cuda, nccl, cuda_roots, nccl_roots):
    texts = []
    if not cuda:
        texts.append("the CUDA runtime (%s, %s) is not in %s" %
                     (CUDA_HEADER, CUDA_LIBRARY, ", ".join(cuda_roots)))
    if not nccl:
        texts.append("NCCL (%s, %s) is not in %s" % (NCCL_HEADER, NCCL_LIBRARY, ", ".join(nccl_roots)))
    return (" and ".join(texts) +
            "; run tools/install-deps --cuda, or set CUDA_PATH (and NCCL_PATH where NCCL is elsewhere)")

# The name appears in Bazel's error when a target needs CUDA and there is none.
_CONSTRAINT = "nccl_and_cuda_runtime"

_ONLY_WHERE_FOUND = select({
    ":found": [],
    "//conditions:default": [":" + _CONSTRAINT],
})

def _declare_condition(found):
    _bool_setting(name = "is_found", build_setting_default = found)
    native.config_setting(name = "found", flag_values = {":is_found": "True"})
    native.constraint_setting(name = "libraries")
    native.constraint_value(name = _CONSTRAINT, constraint_setting = ":libraries")

def cuda_targets(cuda_roots, nccl_roots, wanted):
    """Declares the targets.

    Args:
      cuda_roots: folders that may have a toolkit, linked below cudart/ and include/.
      nccl_roots: folders that may have NCCL, linked below nccl/.
      wanted: False to leave out the libraries, whatever is installed.
    """
    cuda = _find("cudart", cuda_roots, CUDA_HEADER, CUDA_LIBRARY)
    nccl = _find("nccl", nccl_roots, NCCL_HEADER, NCCL_LIBRARY)
    _declare_condition(bool(wanted and cuda and nccl))
    _headers("cudart_headers", cuda, "include", ["*.h", "*.hpp", "crt/**", "nv/**", "cccl/nv/**"], ["", "/cccl"])
    _headers("nccl_headers", nccl, "nccl", [NCCL_HEADER], [""], deps = [":cudart_headers"])
    _library("cudart", cuda, "-lcudart")
    _library("nccl", nccl, "-lnccl")
    if not wanted:
        print("NCCL targets are skipped: MUSTER_WITHOUT_CUDA=1 is set")  # buildifier: disable=print
    elif not (cuda and nccl):
        # buildifier: disable=print
        print("NCCL targets are skipped: " + _missing_text(cuda, nccl, cuda_roots, nccl_roots))
