"""Debian's copies of the repositories that Bazel 4 itself would download, for machines without network access."""

def _stub_repository_impl(ctx):
    for name, label in {
        "BUILD.bazel": ctx.attr.build,
        "defs.bzl": ctx.attr.defs,
    }.items():
        ctx.symlink(label, ctx.path(ctx.attr.package + "/" + name if ctx.attr.package else name))
    ctx.file("WORKSPACE", "workspace(name = \"%s\")\n" % ctx.name)

# A repository of one package with two files. It replaces a repository that Debian does not ship in a form
# that Bazel 4.2 can load.
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
    """Declares the repositories that Bazel 4's own tools refer to, unless this workspace has them already.

    Bazel looks for them under exactly these names, and would download them. A workspace with its own versions must
    declare them before it calls this function. A workspace with network access does not need it.
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
