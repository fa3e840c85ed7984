"""Finds what tools/install-deps --kubernetes has brought, for the tests of deploy/kubernetes."""

def _home(ctx):
    environment = ctx.os.environ
    if environment.get("MUSTER_KUBERNETES_HOME"):
        return environment["MUSTER_KUBERNETES_HOME"]
    if environment.get("XDG_DATA_HOME"):
        return environment["XDG_DATA_HOME"] + "/muster/kubernetes"
    return environment.get("HOME", "/root") + "/.local/share/muster/kubernetes"

# The link need not lead anywhere. Whether it does is asked by the glob, in every build: what is installed
# between two builds is seen by the second. Tests read what lies beside the file that it leads to.
def _kubernetes_tools_repository_impl(ctx):
    ctx.symlink(_home(ctx) + "/kubernetes-requirements.txt", "installed")
    ctx.file("BUILD.bazel", """
filegroup(
    name = "tools",
    srcs = glob(["installed"]),
    visibility = ["//visibility:public"],
)
""")

kubernetes_tools_repository = repository_rule(
    implementation = _kubernetes_tools_repository_impl,
    environ = ["MUSTER_KUBERNETES_HOME", "XDG_DATA_HOME", "HOME"],
    local = True,
)
