"""The function that a WORKSPACE with Muster calls: docs/bazel.md. With MODULE.bazel, use extensions.bzl."""

load(":cuda.bzl", "cuda_repository")
load(":debian.bzl", "debian_repository")

def _declare(rule, kind, name, argument):
    present = native.existing_rule(name)
    if not present:
        rule(name = name)
    elif present["kind"] != kind:
        fail(("muster_repositories: this workspace has a repository @{name} of its own (a {kind}). Name Muster's " +
              "otherwise: muster_repositories({argument} = \"muster_{argument}\"), and give Muster's " +
              "local_repository repo_mapping = {{\"@{argument}\": \"@muster_{argument}\"}}").format(
            name = name,
            kind = present["kind"],
            argument = argument,
        ))

def muster_repositories(debian = "debian", cuda = "cuda"):
    """Declares the repositories of Muster. All are on this machine; nothing is downloaded.

    Args:
      debian: the name for Debian's libraries. If it is not "debian", Muster's repository needs it in repo_mapping.
      cuda: the name for CUDA and NCCL, likewise.
    """
    _declare(debian_repository, "debian_repository", debian, "debian")
    _declare(cuda_repository, "cuda_repository", cuda, "cuda")
