"""The external repositories of Muster, all of them local: the build fetches nothing.

Another workspace that uses Muster as a `local_repository` calls `muster_repositories()` too
(docs/guide.md, "Link the SDK").
"""

load("//bazel:cuda.bzl", "cuda_repository")
load("//bazel:kubernetes.bzl", "kubernetes_tools_repository")

def _stub_repository_impl(ctx):
    for name, label in {
        "BUILD.bazel": ctx.attr.build,
        "defs.bzl": ctx.attr.defs,
    }.items():
        ctx.symlink(label, ctx.path(ctx.attr.package + "/" + name if ctx.attr.package else name))
    ctx.file("WORKSPACE", "workspace(name = \"%s\")\n" % ctx.name)

# A repository of one package with two files. It stands in for a repository that Bazel's own tools
# name but Debian does not ship in a form that Bazel 4.2 can load.
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

def muster_repositories():
    """Declares every repository that Muster's BUILD files and Bazel's tools refer to."""
    _maybe(
        native.new_local_repository,
        name = "debian",
        path = "/usr",
        build_file = "@muster//bazel:debian.BUILD",
    )
    _maybe(cuda_repository, name = "cuda")
    _maybe(kubernetes_tools_repository, name = "kubernetes_tools")
    _maybe(native.local_repository, name = "rules_java", path = "/usr/share/bazel/rules/java")
    _maybe(native.local_repository, name = "rules_proto", path = "/usr/share/bazel/rules/proto")
    _maybe(
        _stub_repository,
        name = "rules_cc",
        package = "cc",
        build = "@muster//bazel:stubs/rules_cc.BUILD",
        defs = "@muster//bazel:stubs/rules_cc.bzl",
    )
    _maybe(
        _stub_repository,
        name = "remote_coverage_tools",
        build = "@muster//bazel:stubs/coverage.BUILD",
        defs = "@muster//bazel:stubs/coverage.bzl",
    )
