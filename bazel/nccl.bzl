"""For targets that can do without NCCL and CUDA. What cannot depends on them, and is skipped where they
are missing (cuda_targets.bzl)."""

def nccl_if_found(values, otherwise = []):
    """`values`, for deps or srcs, where NCCL and CUDA are found; else `otherwise`."""
    return select({
        "@cuda//:found": values,
        "//conditions:default": otherwise,
    })
