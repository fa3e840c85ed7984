"""Finds the files of tools/install-deps --prometheus, for the tests of metrics and alert rules."""

load(":home.bzl", "home_variables", "installed_home")

# Makes a link whose target need not exist. The glob checks the target in every build, so the next build sees
# what was installed or removed in between.
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
