"""Tests and programs on NCCL's own host code, in each of its versions.

    load("//tests/nccl:versions.bzl", "nccl_program", "nccl_versions_test")

    nccl_program(name = "rank", deps = [...])   # a program of a test: linked with NCCL and the stand-in for CUDA

    nccl_versions_test(
        name = "values_test",             # values_test_on_nccl_2_22_3, values_test_on_nccl_2_30_7, ...
        srcs = ["values_test.cc"],
        data = [":rank"],                 # which the test starts with NcclVariables() (libraries.h)
        deps = [...],
    )

A test that itself calls NCCL has `linked = True`. `bazel test //...` runs the tests on the oldest and the newest
version; the others are tagged "manual", and `tools/test --nccl-versions all` runs them, too. `bazel test
//PACKAGE:NAME_on_nccl_2_28_9` runs one of them.
"""

load("//bazel:nccl_source.bzl", "NCCL_VERSIONS", "nccl_repository_name")

_CUDART = "//tests/nccl/cuda:lib/libcudart.so.13"
_NVML = "//tests/nccl/cuda:lib/libnvidia-ml.so.1"

def _library(version):
    return "@%s//:libnccl.so.2" % nccl_repository_name(version)

# The newest version has all functions. Programs are linked with it, and load the version under test
# at run time.
_LINKED = [_library(NCCL_VERSIONS[-1]), _CUDART]
_LINKOPTS = ["$(location %s)" % library for library in _LINKED]

# NCCL's own leaks and races. A sanitizer looks for the suppressions in the program itself.
_SUPPRESSIONS = select({
    "//bazel:address_sanitizer": ["//bazel:leak_suppressions"],
    "//bazel:thread_sanitizer": ["//tests/nccl/real:race_suppressions"],
    "//conditions:default": [],
})

def nccl_program(name, deps = [], linkopts = [], **kwargs):
    """A cc_binary that finds libnccl.so.2 and libcudart.so.13 by LD_LIBRARY_PATH, and only there.

    Args:
      name: of the program.
      deps: as usual.
      linkopts: as usual.
      **kwargs: as for cc_binary.
    """
    native.cc_binary(
        name = name,
        testonly = True,
        additional_linker_inputs = _LINKED,
        linkopts = linkopts + _LINKOPTS,
        deps = deps + _SUPPRESSIONS,
        **kwargs
    )

def nccl_libraries():
    """The libraries of the oldest and the newest version, for the data of a program that starts an nccl_program."""
    return [_library(version) for version in (NCCL_VERSIONS[0], NCCL_VERSIONS[-1])] + [_CUDART, _NVML]

# Variables that a rank needs without InfiniBand and NVLink. NcclVariables() (libraries.cc) returns the same.
_NCCL_VARIABLES = {
    "NCCL_ALGO": "Ring",
    "NCCL_CUMEM_ENABLE": "0",
    "NCCL_IB_DISABLE": "1",
    "NCCL_PROTO": "Simple",
    "NCCL_SOCKET_IFNAME": "lo",
}

# For tests that load the libraries themselves, and so need the variables from their start. They
# start in the folder of runfiles, where these paths begin.
def _environment(version, linked, env):
    own = {"MUSTER_TEST_NCCL": version}
    if linked:
        own.update(_NCCL_VARIABLES)
        own["LD_LIBRARY_PATH"] = "../%s:tests/nccl/cuda/lib" % nccl_repository_name(version)
    return dict(own, **env)

def nccl_versions_test(
        name,
        srcs = [],
        deps = [],
        data = [],
        env = {},
        tags = [],
        linked = False,
        args = [],
        without = {},
        tsan = False,
        versions = NCCL_VERSIONS,
        **kwargs):
    """A cc_test for each version of NCCL, compiled once.

    Args:
      name: what the tests' names begin with.
      srcs: as usual.
      deps: as usual.
      data: programs that it starts, for instance.
      env: variables of the test's, beside those of the version.
      tags: as usual.
      linked: whether the test itself calls NCCL.
      args: as usual.
      without: by version, a pattern of test cases that it cannot run, because it lacks what they test.
      tsan: whether the newest version's test runs with the thread sanitizer, too: --config=tsan.
      versions: the ones to test.
      **kwargs: as for cc_test.
    """
    native.cc_library(
        name = name + "_code",
        testonly = True,
        srcs = srcs,
        tags = tags,
        deps = deps,
        alwayslink = True,
    )
    for version in versions:
        also = [] if version in (NCCL_VERSIONS[0], NCCL_VERSIONS[-1]) else ["manual", "more-nccl-versions"]
        if tsan and version == NCCL_VERSIONS[-1]:
            also = ["tsan"]
        native.cc_test(
            name = "%s_on_%s" % (name, nccl_repository_name(version)),
            additional_linker_inputs = _LINKED if linked else [],
            args = args + (["--gtest_filter=-" + without[version]] if version in without else []),
            data = data + [_library(version), _CUDART, _NVML],
            env = _environment(version, linked, env),
            linkopts = _LINKOPTS if linked else [],
            tags = tags + also,
            deps = deps + [":%s_code" % name] + (_SUPPRESSIONS if linked else []),
            **kwargs
        )
