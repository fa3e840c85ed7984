#ifndef MUSTER_TESTS_NCCL_LIBRARIES_H_
#define MUSTER_TESTS_NCCL_LIBRARIES_H_

#include <map>
#include <string>

// Which NCCL a test runs on. A test of nccl_versions_test() (versions.bzl) runs on NCCL's own host
// code and the stand-in for CUDA; its programs load them by LD_LIBRARY_PATH:
//
//   Process::Start({Runfile(program)}, NcclVariables());
namespace muster::testing {

// Returns "2.30.7", for instance; "" where the test runs on the fake NCCL.
std::string NcclUnderTest();

// Returns what ncclGetVersion() says, 23007 for instance; 0 where the test runs on the fake NCCL.
int NcclVersionCode();

// Returns the variables that a rank needs to load the libraries under test and to find its way
// without InfiniBand and NVLink; none where the test runs on the fake NCCL.
std::map<std::string, std::string> NcclVariables();

}  // namespace muster::testing

#endif  // MUSTER_TESTS_NCCL_LIBRARIES_H_
