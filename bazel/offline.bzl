"""What Bazel 4 itself would fetch from the network, in Debian's form: for machines that cannot."""

def _stub_repository_impl(ctx):
    for name, label in {
        "BUILD.bazel": ctx.attr.build,
        "defs.bzl": ctx.attr.defs,
    }.items():
        ctx.symlink(label, ctx.path(ctx.attr.package + "/" + name if ctx.attr.package else name))
    ctx.file("WORKSPACE", "workspace(name = \"%s\")\n" % ctx.name)

# A repository of one package with two files. It stands in for what Debian does not ship in a form that
# Bazel 4.2 can load.
_stub_repository = repository_rule(
    implementation = _stub_repository_impl,
    attrs = {
        "build": attr.label(mandatory = True),
        "defs": attr.label(mandatory = True),
        "package": attr.string(),
    },
)

def _maybe(rule, name, **kwargs):
    if not native.existing_rule(name):
        rule(name = name, **kwargs)

def offline_repositories():
    """Declares the repositories that Bazel 4's own tools name, as far as this workspace does not have them.

    Bazel looks for them under these names and no others, and would download them. So a workspace that declares its
    own does so before it calls this; one that can reach the network does not call it at all.
    """
    _maybe(native.local_repository, name = "rules_java", path = "/usr/share/bazel/rules/java")
    _maybe(
        _stub_repository,
        name = "rules_cc",
        package = "cc",
        build = Label("//bazel:stubs/rules_cc.BUILD"),
        defs = Label("//bazel:stubs/rules_cc.bzl"),
    )
    _maybe(
        _stub_repository,
        name = "remote_coverage_tools",
        build = Label("//bazel:stubs/coverage.BUILD"),
        defs = Label("//bazel:stubs/coverage.bzl"),
    )
