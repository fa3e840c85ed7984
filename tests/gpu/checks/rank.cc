// One rank of a check on a GPU. gpu_test.cc starts the ranks.

#include <CLI/CLI.hpp>
#include <iostream>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "muster/job.h"
#include "tests/gpu/checks/gpu_checks.h"

namespace muster::gpu {
namespace {

using Check = absl::Status (*)(Job&, const RankFlags&);

const std::map<std::string, Check> kChecks = {
    {"values", CheckValues},     {"host_buffers", CheckHostBuffers},
    {"groups", CheckGroups},     {"loss", CheckLoss},
    {"churn", CheckChurn},       {"bootstrap", CheckBootstrap},
    {"profiler", CheckProfiler}, {"speed", CheckSpeed},
};

int Fail(const std::string& subject, const absl::Status& error) {
  std::cerr << subject << ": " << error.message() << std::endl;
  return 1;
}

int Run(const std::string& name, const RankFlags& flags) {
  absl::StatusOr<std::unique_ptr<Job>> job = Job::Join(JobOptions::FromEnvironment());
  if (!job.ok()) return Fail(name, job.status());
  const std::string subject = "rank " + std::to_string((*job)->rank());
  const absl::Status checked = kChecks.at(name)(**job, flags);
  if (!checked.ok()) return Fail(subject, checked);
  const absl::Status left = (*job)->Leave();  // OK also after a member was lost
  return left.ok() ? 0 : Fail(subject, left);
}

int Describe() {
  const absl::Status described = DescribeMachine();
  return described.ok() ? 0 : Fail("no GPU to test on", described);
}

}  // namespace
}  // namespace muster::gpu

int main(int argc, char** argv) {
  CLI::App app("One rank of a check on a GPU; gpu_test starts them", "rank");
  std::string check;
  muster::gpu::RankFlags flags;
  app.add_option(
         "check", check,
         "Name of the check; 'describe' prints what the machine has, and 'built-with' the version "
         "of NCCL that it needs")
      ->required();
  app.add_option("--max-bytes", flags.max_bytes);
  app.add_option("--rounds", flags.rounds);
  app.add_option("--seconds", flags.seconds);
  app.add_flag("--quick", flags.quick);
  app.add_flag("--judge", flags.judge);
  app.add_option("--scratch", flags.scratch);
  app.add_option("--second-coordinator", flags.second_coordinator);
  app.add_option("--profiler-plugin", flags.profiler_plugin);
  CLI11_PARSE(app, argc, argv);
  if (check == "describe") return muster::gpu::Describe();
  if (check == "built-with") return std::cout << muster::gpu::BuiltWithNccl() << std::endl, 0;
  if (muster::gpu::kChecks.count(check) > 0) return muster::gpu::Run(check, flags);
  std::cerr << "rank: there is no check '" << check << "'" << std::endl;
  return 2;
}
