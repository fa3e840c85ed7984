"""Finds the PyTorch of tools/peers, for the tests of PyTorch programs."""

load(":home.bzl", "home_variables", "installed_home")

# Makes a link whose target need not exist, as mpi.bzl does.
def _torch_repository_impl(ctx):
    ctx.symlink(installed_home(ctx, "peers") + "/peers-requirements.txt", "installed")
    ctx.file("BUILD.bazel", """
filegroup(
    name = "torch",
    srcs = glob(["installed"]),
    visibility = ["//visibility:public"],
)
""")

torch_repository = repository_rule(
    implementation = _torch_repository_impl,
    environ = home_variables("peers"),
    local = True,
)
