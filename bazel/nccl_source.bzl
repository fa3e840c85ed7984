"""Finds the sources of NCCL that tools/install-nccl-source has installed; nccl_source_targets.bzl declares the targets.

    nccl_source_repositories()   # @nccl_2_22_3, ...
"""

load(":home.bzl", "home_variables", "installed_home")

# From the oldest version that Muster accepts to the newest in its tests. tools/install-nccl-source has the same list.
NCCL_VERSIONS = ["2.22.3", "2.27.7", "2.28.9", "2.30.7"]

def nccl_repository_name(version):
    """Returns the name of the repository of a version of NCCL.

    Args:
      version: such as "2.30.7".
    """
    return "nccl_" + version.replace(".", "_")

# Makes a link whose target need not exist. Globs check the target in every build, so the next build sees
# what was installed or removed in between.
def _nccl_source_repository_impl(ctx):
    home = installed_home(ctx, "nccl-source")
    ctx.symlink(home + "/" + ctx.attr.version, "source")
    ctx.file("BUILD.bazel", """
load("@muster//bazel:nccl_source_targets.bzl", "nccl_source_targets")

package(
    default_testonly = True,
    default_visibility = ["//visibility:public"],
)

nccl_source_targets(
    home = "{home}",
    version = "{version}",
)
""".format(home = home, version = ctx.attr.version))

nccl_source_repository = repository_rule(
    implementation = _nccl_source_repository_impl,
    attrs = {"version": attr.string(mandatory = True)},
    environ = home_variables("nccl-source"),
    local = True,
    doc = "The host code of one version of NCCL, compiled for machines without a GPU. For tests.",
)

def nccl_source_repositories():
    """Declares a repository for each version."""
    for version in NCCL_VERSIONS:
        nccl_source_repository(name = nccl_repository_name(version), version = version)
