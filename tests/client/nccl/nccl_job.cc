#include "tests/client/nccl/nccl_job.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace muster::testing {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(100);
constexpr char kNode[] = "node-a";

// How long a lost rank might come back: short, since these do not.
constexpr char kMemberGrace[] = "300ms";

}  // namespace

std::unique_ptr<NcclJob> NcclJob::Start(int size, const std::vector<std::string>& arguments,
                                        const Environment& env,
                                        const std::map<int, Environment>& env_by_rank) {
  auto job = std::make_unique<NcclJob>();
  job->daemon_ = TestDaemon::Start({"--member-grace", kMemberGrace});
  for (int rank = 0; rank < size; ++rank) {
    Environment all = {{"MUSTER_COORDINATOR", job->daemon_->address()},
                       {"MUSTER_WORLD_SIZE", absl::StrCat(size)},
                       {"MUSTER_RANK", absl::StrCat(rank)},
                       {"MUSTER_NODE_ID", kNode},
                       {"MUSTER_TIMEOUT", "60s"},
                       {"MUSTER_LOG_LEVEL", "info"}};
    for (const auto& [name, value] : env) all[name] = value;
    const auto own = env_by_rank.find(rank);
    if (own != env_by_rank.end()) {
      for (const auto& [name, value] : own->second) all[name] = value;
    }
    std::vector<std::string> command = {Runfile("tests/client/nccl/nccl_rank")};
    command.insert(command.end(), arguments.begin(), arguments.end());
    job->ranks_.push_back(Process::Start(command, all));
  }
  return job;
}

void NcclJob::ExpectAll(const Exit& exit) {
  for (int rank = 0; rank < size(); ++rank) OutputOf(rank, exit);
}

std::string NcclJob::OutputOf(int rank, const Exit& exit) {
  EXPECT_EQ(ranks_[rank]->Wait(kPatience), exit) << "rank " << rank << ":\n"
                                                 << ranks_[rank]->Output();
  return ranks_[rank]->Output();
}

std::string NcclJob::NameOf(int rank) const {
  return absl::StrCat("rank ", rank, " (node ", kNode, ", pid ", ranks_[rank]->pid(), ")");
}

std::string NcclJob::LossOf(int rank) const {
  return absl::StrCat("ABORTED: job 'default': rank ", rank, " (node '", kNode, "', host ");
}

std::map<int, NcclJob::Environment> FaultOf(int rank, const std::string& faults) {
  return {{rank, {{"FAKE_NCCL_FAULTS", faults}}}};
}

}  // namespace muster::testing
