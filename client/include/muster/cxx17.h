#ifndef MUSTER_CXX17_H_
#define MUSTER_CXX17_H_

// Every header of Muster includes this one first: who compiles with an older standard reads this
// before anything else.
#if defined(__cplusplus) && __cplusplus < 201703L
#error \
    "Muster's headers need C++17 or newer: compile with -std=c++17. With Bazel, use muster_cc_binary, muster_cc_library and muster_cc_test from @muster//bazel:cc.bzl in place of cc_binary, cc_library and cc_test."
#endif

#endif  // MUSTER_CXX17_H_
