"""For targets that can do without NCCL and CUDA. What cannot depends on them, and is skipped where they
are missing (cuda_targets.bzl)."""

# Not within the function: Bazel 4 takes a label there for its caller's, in whose repository @cuda may be another.
_FOUND = str(Label("@cuda//:found"))

def nccl_if_found(values, otherwise = []):
    """`values`, for deps or srcs, where NCCL and CUDA are found; else `otherwise`."""
    return select({
        _FOUND: values,
        "//conditions:default": otherwise,
    })
