"""Finds the CUDA toolkit and NCCL; both are optional.

Looked for in CUDA_PATH, then /usr/local/cuda, then /usr (Debian's packages). Where one is missing its
library is empty and `CUDA_FOUND` or `NCCL_FOUND` in @cuda//:found.bzl is False.
"""

def _first_with(ctx, roots, headers):
    for root in roots:
        for include in ["include", "targets/x86_64-linux/include", "targets/sbsa-linux/include"]:
            for header in headers:
                if ctx.path(root + "/" + include + "/" + header).exists:
                    return root, root + "/" + include
    return None, None

def _library(name, root, linkopt):
    if not root:
        return "cc_library(name = \"%s\")\n" % name
    if root == "/usr":
        return "cc_library(name = \"%s\", linkopts = [\"%s\"])\n" % (name, linkopt)
    return """cc_library(
    name = "{name}",
    hdrs = glob(["{name}_include/**"], allow_empty = True),
    includes = ["{name}_include"],
    linkopts = ["-L{root}/lib64", "-Wl,-rpath,{root}/lib64", "{linkopt}"],
)
""".format(name = name, root = root, linkopt = linkopt)

def _cuda_repository_impl(ctx):
    roots = [ctx.os.environ[v] for v in ["CUDA_PATH"] if ctx.os.environ.get(v)] + ["/usr/local/cuda", "/usr"]
    cuda_root, cuda_include = _first_with(ctx, roots, ["cuda_runtime_api.h"])
    nccl_root, nccl_include = _first_with(ctx, roots, ["nccl.h"])
    if cuda_root and cuda_root != "/usr":
        ctx.symlink(cuda_include, "cudart_include")
    if nccl_root and nccl_root not in ["/usr", cuda_root]:
        ctx.symlink(nccl_include, "nccl_include")
    elif nccl_root and nccl_root == cuda_root:
        nccl_root = "/usr" if cuda_root == "/usr" else nccl_root
        if nccl_root != "/usr":
            ctx.symlink(nccl_include + "/nccl.h", "nccl_include/nccl.h")
    ctx.file("BUILD.bazel", "package(default_visibility = [\"//visibility:public\"])\n" +
                            _library("cudart", cuda_root, "-lcudart") +
                            _library("nccl", nccl_root, "-lnccl"))
    ctx.file("found.bzl", "CUDA_FOUND = %s\nNCCL_FOUND = %s\n" % (cuda_root != None, nccl_root != None))

cuda_repository = repository_rule(
    implementation = _cuda_repository_impl,
    environ = ["CUDA_PATH"],
    local = True,
    doc = "Empty libraries where there is no CUDA toolkit or NCCL.",
)
