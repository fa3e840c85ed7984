"""A condition for targets that can be built with or without NCCL and CUDA. A target that needs them depends on them,
and is skipped if they are missing (cuda_targets.bzl)."""

# Outside the function: inside, Bazel 4 resolves a label in the repository of the caller, whose @cuda may differ.
_FOUND = str(Label("@cuda//:found"))

def nccl_if_found(values, otherwise = []):
    """Returns `values`, for deps or srcs, if NCCL and CUDA are found, else `otherwise`."""
    return select({
        _FOUND: values,
        "//conditions:default": otherwise,
    })
