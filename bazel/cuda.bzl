"""Finds the CUDA toolkit and NCCL; both are optional. cuda_targets.bzl declares the targets.

The repository rule only decides where to look: it links all files that may exist into the repository
@cuda, and runs again when a variable changes. Globs in @cuda's BUILD file find out which files exist,
and Bazel checks globs in every build. So the next build sees a toolkit that was installed or removed,
even if the Bazel server keeps running.
"""

load(
    ":cuda_targets.bzl",
    "CUDA_HEADER",
    "CUDA_LIBRARY",
    "INCLUDE_FOLDERS",
    "LIBRARY_FOLDERS",
    "NCCL_HEADER",
    "NCCL_LIBRARY",
)

def _environment(ctx, names):
    return [ctx.os.environ[name].rstrip("/") for name in names if ctx.os.environ.get(name)]

# The folder into which tools/install-deps --cuda puts NVIDIA's wheels.
def _own_roots(ctx):
    if ctx.os.environ.get("MUSTER_CUDA_HOME"):
        return _environment(ctx, ["MUSTER_CUDA_HOME"])
    if ctx.os.environ.get("XDG_DATA_HOME"):
        return [data + "/muster/cuda" for data in _environment(ctx, ["XDG_DATA_HOME"])]
    return [home + "/.local/share/muster/cuda" for home in _environment(ctx, ["HOME"])]

def _without_repetition(values):
    return {value: None for value in values}.keys()

# Links KIND/PATH to PATH, which need not exist.
def _link_candidates(ctx, kind, roots, header, library):
    for root in roots:
        paths = ([root + "/" + folder + "/" + header for folder in INCLUDE_FOLDERS] +
                 [root + "/" + folder + "/" + library for folder in LIBRARY_FOLDERS])
        for path in paths:
            ctx.symlink(path, kind + path)

# NCCL has a single header, CUDA's runtime a folder of headers.
def _link_include_folders(ctx, kind, roots):
    for root in roots:
        for folder in INCLUDE_FOLDERS:
            ctx.symlink(root + "/" + folder, kind + root + "/" + folder)

def _cuda_repository_impl(ctx):
    system = ctx.attr.system_root
    fixed = [system + "/usr/local/cuda"] + _own_roots(ctx) + [system + "/usr"]
    cuda_roots = _without_repetition(_environment(ctx, ["CUDA_PATH"]) + fixed)
    nccl_roots = _without_repetition(_environment(ctx, ["NCCL_PATH", "NCCL_HOME", "CUDA_PATH"]) + fixed)
    _link_candidates(ctx, "cudart", cuda_roots, CUDA_HEADER, CUDA_LIBRARY)
    _link_candidates(ctx, "nccl", nccl_roots, NCCL_HEADER, NCCL_LIBRARY)
    _link_include_folders(ctx, "include", cuda_roots)
    ctx.file("BUILD.bazel", """
load("@muster//bazel:cuda_targets.bzl", "cuda_targets")

package(default_visibility = ["//visibility:public"])

cuda_targets(
    cuda_roots = {cuda_roots},
    nccl_roots = {nccl_roots},
    wanted = {wanted},
)
""".format(
        cuda_roots = cuda_roots,
        nccl_roots = nccl_roots,
        wanted = ctx.os.environ.get("MUSTER_WITHOUT_CUDA") != "1",
    ))

cuda_repository = repository_rule(
    implementation = _cuda_repository_impl,
    attrs = {
        "system_root": attr.string(doc = "A test's made-up system is below it."),
    },
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
