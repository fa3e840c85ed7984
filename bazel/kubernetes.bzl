"""Finds what tools/install-deps --kubernetes has brought, for the tests of deploy/kubernetes."""

load(":home.bzl", "home_variables", "installed_home")

# The link need not lead anywhere. Whether it does is asked by the glob, in every build: what is installed
# between two builds is seen by the second. Tests read what lies beside the file that it leads to.
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
