// The checks for a machine with one GPU (README.md).
//
//   gpu_test [--list] [--gtest_filter=Speed.*]

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "tests/gpu/suite.h"
#include "tests/nccl/libraries.h"
#include "tests/util/process/process.h"

namespace muster::gpu {
namespace {

class RegisteredCheck : public ::testing::Test {
 public:
  RegisteredCheck(const Check& check, int ranks, const SuiteFlags& flags)
      : check_(check), ranks_(ranks), flags_(flags) {}
  void TestBody() override { check_.run(ranks_, flags_); }

 private:
  const Check& check_;
  const int ranks_;
  const SuiteFlags& flags_;
};

void Register(const SuiteFlags& flags) {
  for (const Check& check : AllChecks()) {
    for (int ranks : check.ranks) {
      const std::string name = absl::StrCat(ranks, ranks == 1 ? "rank" : "ranks");
      ::testing::RegisterTest(check.name, name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                              [&check, ranks, &flags]() -> ::testing::Test* {
                                return new RegisteredCheck(check, ranks, flags);
                              });
    }
  }
}

void List() {
  for (const Check& check : AllChecks()) {
    for (int ranks : check.ranks) {
      std::cout << absl::StrFormat("%-24s %s\n", NameOf(check, ranks), check.what);
    }
  }
}

// Prints at the end how each check ended.
class Summary : public ::testing::EmptyTestEventListener {
  void OnTestEnd(const ::testing::TestInfo& test) override {
    const ::testing::TestResult& result = *test.result();
    const char* const verdict = result.Skipped() ? "skipped" : result.Passed() ? "PASS" : "FAIL";
    lines_.push_back(absl::StrFormat("%-8s %-24s %6.1f s", verdict,
                                     absl::StrCat(test.test_suite_name(), ".", test.name()),
                                     static_cast<double>(result.elapsed_time()) / 1e3));
  }
  void OnTestProgramEnd(const ::testing::UnitTest&) override {
    std::cout << "\n";
    for (const std::string& line : lines_) std::cout << line << "\n";
    std::cout << std::flush;
  }

  std::vector<std::string> lines_;
};

// Prints what the machine has. Returns false if it has no usable GPU.
bool Describe(const SuiteFlags& flags) {
  const auto process = testing::Process::Start({testing::Runfile(flags.rank_program), "describe"});
  const bool usable = process->Wait() == testing::Exit{false, 0};
  std::cout << process->Output() << std::endl;
  return usable;
}

}  // namespace
}  // namespace muster::gpu

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  muster::gpu::SuiteFlags flags;
  bool list = false;
  CLI::App app("Checks Muster's NCCL data plane on a machine with one GPU", "gpu_test");
  app.add_flag("--list", list, "Name every check, and end");
  app.add_flag("--small", flags.small, "Small buffers, few rounds, and no judgement of times");
  app.add_option("--rank-program", flags.rank_program);
  app.add_option("--scenarios", flags.scenarios);
  app.add_option("--digits", flags.digits);
  app.add_option("--allreduce", flags.allreduce);
  app.add_option("--muster", flags.muster);
  app.add_option("--profiler-plugin", flags.profiler_plugin);
  app.add_option("--sanitizer", flags.sanitizer, "Path of compute-sanitizer");
  CLI11_PARSE(app, argc, argv);
  if (list) return muster::gpu::List(), 0;
  // On a machine without a GPU, uses NCCL's own host code on a stand-in (tests/nccl/versions.bzl).
  for (const auto& [name, value] : muster::testing::NcclVariables()) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  muster::gpu::Register(flags);
  if (!::testing::GTEST_FLAG(list_tests) && !muster::gpu::Describe(flags)) return 1;
  ::testing::UnitTest::GetInstance()->listeners().Append(new muster::gpu::Summary);
  return RUN_ALL_TESTS();
}
