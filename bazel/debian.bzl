"""Debian's libraries as a repository: debian.BUILD declares its targets."""

def _debian_repository_impl(ctx):
    for folder in ["bin", "lib"]:
        ctx.symlink("/usr/" + folder, folder)
    ctx.symlink(Label("//bazel:debian.BUILD"), "BUILD.bazel")

debian_repository = repository_rule(
    implementation = _debian_repository_impl,
    local = True,
    doc = "Debian's libraries below /usr/lib and programs of /usr/bin; its headers are where every compiler looks.",
)
