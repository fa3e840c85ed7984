"""Finds what tools/install-library-sources has brought; library_sources.BUILD says what is compiled of it."""

load(":home.bzl", "home_variables", "installed_home")

# The link need not lead anywhere. Whether it does is asked by the globs, in every build: what is installed
# between two builds is seen by the second.
def _library_sources_repository_impl(ctx):
    ctx.symlink(installed_home(ctx, "sources"), "installed")
    ctx.symlink(Label("//bazel:library_sources.BUILD"), "BUILD.bazel")

    # CMake makes this one: what is linked into a program exports nothing.
    ctx.file("generated/prometheus/detail/core_export.h", "#define PROMETHEUS_CPP_CORE_EXPORT\n")

library_sources_repository = repository_rule(
    implementation = _library_sources_repository_impl,
    environ = home_variables("sources"),
    local = True,
    doc = "Libraries that Debian has as shared ones only, compiled from Debian's sources.",
)
