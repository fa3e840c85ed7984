#ifndef MUSTER_TESTS_NCCL_LIBRARIES_H_
#define MUSTER_TESTS_NCCL_LIBRARIES_H_

#include <map>
#include <string>

// The NCCL that a test runs on. A test of nccl_versions_test() (versions.bzl) runs on NCCL's own
// host code and the stand-in for CUDA. Its programs load them by LD_LIBRARY_PATH:
//
//   Process::Start({Runfile(program)}, NcclVariables());
namespace muster::testing {

// Returns the version, such as "2.30.7", or "" if the test runs on the fake NCCL.
std::string NcclUnderTest();

// Returns the result of ncclGetVersion(), such as 23007, or 0 if the test runs on the fake NCCL.
int NcclVersionCode();

// Returns the variables by which a rank loads the libraries under test and connects without
// InfiniBand and NVLink. Empty if the test runs on the fake NCCL.
std::map<std::string, std::string> NcclVariables();

}  // namespace muster::testing

#endif  // MUSTER_TESTS_NCCL_LIBRARIES_H_
