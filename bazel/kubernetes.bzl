"""Finds the files of tools/install-deps --kubernetes, for the tests of deploy/kubernetes."""

load(":home.bzl", "home_variables", "installed_home")

# Makes a link whose target need not exist. The glob checks the target in every build, so the next build sees
# what was installed or removed in between. Tests read the files beside the target.
def _kubernetes_tools_repository_impl(ctx):
    ctx.symlink(installed_home(ctx, "kubernetes") + "/kubernetes-requirements.txt", "installed")
    ctx.file("BUILD.bazel", """
filegroup(
    name = "tools",
    srcs = glob(["installed"]),
    visibility = ["//visibility:public"],
)
""")

kubernetes_tools_repository = repository_rule(
    implementation = _kubernetes_tools_repository_impl,
    environ = home_variables("kubernetes"),
    local = True,
)
