#ifndef MUSTER_CXX17_H_
#define MUSTER_CXX17_H_

// Every header of Muster includes this one first, so that a compiler with an older standard reports
// this error before any other.
#if defined(__cplusplus) && __cplusplus < 201703L
#error \
    "Muster's headers need C++17 or newer: compile with -std=c++17. With Bazel, use muster_cc_binary, muster_cc_library and muster_cc_test from @muster//bazel:cc.bzl in place of cc_binary, cc_library and cc_test."
#endif

// nvcc warns that `status = comm->Wait(stream);` discards an absl::Status (#2810-D), because Abseil
// declares the class nodiscard and the assignment returns a reference to it. This turns the warning
// off for the rest of the file. #3004-D and the host compiler still report discarded results.
#if defined(__CUDACC__) && defined(__NVCC_DIAG_PRAGMA_SUPPORT__)
#pragma nv_diag_suppress 2810
#endif

#endif  // MUSTER_CXX17_H_
