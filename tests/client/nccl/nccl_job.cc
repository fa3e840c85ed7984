#include "tests/client/nccl/nccl_job.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "tests/nccl/libraries.h"

namespace muster::testing {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(100);

// Returns whether the variables choose the ranks' GPUs. If they do not, each rank uses the GPU of
// its local rank, and may open no other one.
bool ChoosesDevices(const Variables& env) {
  return env.count("CUDA_VISIBLE_DEVICES") + env.count("FAKE_CUDA_DEVICES") +
             env.count("MUSTER_ALLOW_SHARED_GPU") >
         0;
}

// Returns whether NCCL's own threads open device 0. NCCL 2.22's thread for a group begins with the
// first device and returns to it (src/group.cc, groupLaunch). 2.27 uses its own device only.
bool NcclOpensTheFirstDevice() {
  const int version = NcclVersionCode();
  return version > 0 && version < 22700;
}

bool NamesDevice(const Args& scenario) {
  return std::any_of(scenario.begin(), scenario.end(),
                     [](const std::string& word) { return absl::StartsWith(word, "device="); });
}

}  // namespace

std::unique_ptr<NcclJob> NcclJob::Start(int size, const Args& scenario, const Variables& env,
                                        const std::map<int, Variables>& env_by_rank,
                                        const Args& daemon_flags) {
  Variables all = {{"MUSTER_TIMEOUT", "60s"}, {"MUSTER_LOG_LEVEL", "info"}};
  for (const auto& [name, value] : NcclVariables()) all[name] = value;
  for (const auto& [name, value] : env) all[name] = value;
  std::map<int, Variables> by_rank = env_by_rank;
  for (int rank = 0; rank < size && !NcclOpensTheFirstDevice(); ++rank) {
    if (ChoosesDevices(env) || ChoosesDevices(by_rank[rank]) || NamesDevice(scenario)) continue;
    by_rank[rank].emplace("FAKE_CUDA_ONLY_DEVICE", absl::StrCat(rank));
  }
  const std::string details = absl::StrJoin(scenario.begin() + 1, scenario.end(), ",");
  const Args command = {Runfile(NcclUnderTest().empty() ? "tests/client/nccl/rank/nccl_rank"
                                                        : "tests/client/nccl/rank/real_nccl_rank"),
                        absl::StrCat(scenario[0], "=", details)};
  return std::unique_ptr<NcclJob>(
      new NcclJob(Ranks(size, size, command, all, by_rank, daemon_flags)));
}

void NcclJob::ExpectAll(const Exit& exit) {
  for (int rank = 0; rank < size(); ++rank) OutputOf(rank, exit);
}

std::string NcclJob::OutputOf(int rank, const Exit& exit) {
  EXPECT_EQ(ranks_[rank].Wait(kPatience), exit) << "rank " << rank << ":\n"
                                                << ranks_[rank].Output();
  return ranks_[rank].Output();
}

std::string NcclJob::NameOf(int rank) const {
  return absl::StrCat("rank ", rank, " (node 'node-0', pid ", ranks_[rank].pid(), ")");
}

std::string NcclJob::LossOf(int rank) const {
  return absl::StrCat("ABORTED: job 'default': rank ", rank, " (node 'node-0', host ");
}

std::map<int, Variables> FaultOf(int rank, const std::string& faults) {
  return {{rank, {{"FAKE_NCCL_FAULTS", faults}, {"MUSTER_TEST_NCCL_FAULTS", faults}}}};
}

}  // namespace muster::testing
