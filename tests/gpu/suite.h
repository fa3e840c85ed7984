#ifndef MUSTER_TESTS_GPU_SUITE_H_
#define MUSTER_TESTS_GPU_SUITE_H_

#include <string>
#include <vector>

namespace muster::gpu {

// The programs that the suite runs, and how much of each check.
struct SuiteFlags {
  std::string rank_program = "tests/gpu/rank";
  std::string scenarios = "tests/gpu/scenarios";
  std::string digits = "examples/digits/digits";
  std::string allreduce = "examples/allreduce/allreduce";
  std::string muster = "client/cli/muster";
  std::string profiler_plugin = "client/nccl/profiler/libnccl-profiler-muster.so";
  std::string sanitizer;  // empty: looked up in PATH and in the CUDA toolkit
  // Uses small buffers and few rounds, and judges no times, to test the suite itself.
  bool small = false;
};

// One check, on several numbers of ranks.
struct Check {
  const char* name;
  const char* what;
  std::vector<int> ranks;
  void (*run)(int ranks, const SuiteFlags& flags);  // fails by gtest's means
};

// Returns every check, in the order in which they run.
const std::vector<Check>& AllChecks();

// Returns "Values.2ranks", as --list prints it and --gtest_filter takes it.
std::string NameOf(const Check& check, int ranks);

}  // namespace muster::gpu

#endif  // MUSTER_TESTS_GPU_SUITE_H_
