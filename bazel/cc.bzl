"""C++ rules for Muster's own libraries and for programs that use them: cc_library, cc_binary and cc_test as C++17.

Muster's headers need C++17, but a Bazel toolchain may default to an older standard: Bazel 4's passes
-std=c++0x. A target's own options come last on the compiler's command line. So these targets are C++17
whatever --cxxopt says on the command line or in .bazelrc, and `copts = ["-std=c++20"]` still makes one
of them C++20. A workspace that is compiled as C++17 or newer does not need these rules.
"""

_CXX17 = ["-std=c++17"]

def muster_cc_library(name, copts = [], **kwargs):
    """A cc_library compiled as C++17.

    Args:
      name: of the library.
      copts: options of the compiler, after -std=c++17.
      **kwargs: as for cc_library.
    """
    native.cc_library(name = name, copts = _CXX17 + copts, **kwargs)

def muster_cc_binary(name, copts = [], **kwargs):
    """A cc_binary compiled as C++17.

    Args:
      name: of the program.
      copts: options of the compiler, after -std=c++17.
      **kwargs: as for cc_binary.
    """
    native.cc_binary(name = name, copts = _CXX17 + copts, **kwargs)

def muster_cc_test(name, copts = [], **kwargs):
    """A cc_test compiled as C++17.

    Args:
      name: of the test.
      copts: options of the compiler, after -std=c++17.
      **kwargs: as for cc_test.
    """
    native.cc_test(name = name, copts = _CXX17 + copts, **kwargs)
