"""Targets that need NCCL and CUDA, which may be missing (cuda.bzl says then where it looked).

Where they are missing, a library or program fails with a message that says what to do, `bazel build
//...` passes it by, and a test is not there.
"""

load("@cuda//:found.bzl", "NCCL_FOUND", "NCCL_MISSING")

def nccl_cc_library(name, visibility = None, **kwargs):
    if NCCL_FOUND:
        native.cc_library(name = name, visibility = visibility, **kwargs)
        return
    native.cc_library(
        name = name,
        srcs = [_failure(name)],
        tags = ["manual"],
        visibility = visibility,
    )

def nccl_cc_binary(name, visibility = None, testonly = False, **kwargs):
    if NCCL_FOUND:
        native.cc_binary(name = name, visibility = visibility, testonly = testonly, **kwargs)
        return
    native.cc_binary(
        name = name,
        testonly = testonly,
        srcs = [_failure(name)],
        tags = ["manual"],
        visibility = visibility,
    )

def nccl_cc_test(name, **kwargs):
    if NCCL_FOUND:
        native.cc_test(name = name, **kwargs)

# For the deps of programs that run without NCCL too.
def nccl_if_found(deps):
    return deps if NCCL_FOUND else []

def _failure(name):
    source = name + "_without_nccl.cc"
    native.genrule(
        name = name + "_without_nccl",
        outs = [source],
        cmd = "echo >&2 '//%s:%s cannot be built: %s'; exit 1" %
              (native.package_name(), name, NCCL_MISSING),
        tags = ["manual"],
    )
    return source
