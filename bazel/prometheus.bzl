"""Finds what tools/install-deps --prometheus has brought, for the tests of metrics and alert rules."""

load(":home.bzl", "home_variables", "installed_home")

# The link need not lead anywhere. Whether it does is asked by the glob, in every build: what is installed
# between two builds is seen by the second.
def _prometheus_tools_repository_impl(ctx):
    ctx.symlink(installed_home(ctx, "prometheus"), "installed")
    ctx.file("BUILD.bazel", """
filegroup(
    name = "tools",
    srcs = glob(["installed/promtool"]),
    visibility = ["//visibility:public"],
)
""")

prometheus_tools_repository = repository_rule(
    implementation = _prometheus_tools_repository_impl,
    environ = home_variables("prometheus"),
    local = True,
)
