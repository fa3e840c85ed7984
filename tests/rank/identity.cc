#include <iostream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "muster/toolkits.h"
#include "tests/rank/steps.h"

namespace muster::testing {
namespace {

using toolkits::AdoptLatestJob;
using toolkits::Barrier;
using toolkits::CurrentJob;
using toolkits::Finalize;
using toolkits::GetHostname;
using toolkits::GetLocalRank;
using toolkits::GetNnodes;
using toolkits::GetNodeRank;
using toolkits::GetNprocPerNode;
using toolkits::GetRank;
using toolkits::GetWorldSize;
using toolkits::Initialize;
using toolkits::IsDistributed;
using toolkits::IsLocalRankZero;
using toolkits::IsMainProcess;
using toolkits::RankPrefixedMessage;
using toolkits::SetLocalRank;

std::string Say(const std::optional<int>& rank) { return rank ? absl::StrCat(*rank) : "?"; }

void PrintIdentity() {
  const Job& job = CurrentJob();
  std::cout << RankPrefixedMessage("rank ") << Say(GetRank()) << "/" << GetWorldSize() << ", local "
            << Say(GetLocalRank()) << "/" << GetNprocPerNode() << ", node " << GetNodeRank() << "/"
            << GetNnodes() << " at " << GetHostname() << (IsMainProcess(job) ? ", main" : "")
            << (IsLocalRankZero(job) ? ", local zero" : "")
            << (IsDistributed(job) ? ", distributed" : "") << std::endl;
}

absl::StatusOr<JobOptions> CopiedOptions() {
  absl::StatusOr<JobOptions> read = JobOptions::FromEnvironment();
  if (!read.ok()) return read;
  JobOptions options;
  options.coordinator = read->coordinator;
  options.rank = read->rank;
  options.node_id = read->node_id;
  return options;
}

absl::Status InitializeAndFinalize(const std::string& how) {
  absl::Status status = how == "options" ? Initialize(CopiedOptions()) : Initialize();
  if (!status.ok()) return status;
  PrintIdentity();
  if (status = Barrier(CurrentJob()); !status.ok()) return status;
  if (Initialize().ok()) return absl::InternalError("a second job has been taken");
  return Finalize();
}

absl::Status AdoptAndLeave() {
  const auto job = Job::Join(JobOptions::FromEnvironment());
  if (!job.ok()) return job.status();
  AdoptLatestJob();
  PrintIdentity();
  const absl::Status left = (*job)->Leave();
  AdoptLatestJob();
  return left;
}

}  // namespace

absl::Status TellIdentity(const std::string& how) {
  PrintIdentity();
  absl::Status status;
  if (absl::StartsWith(how, "hinted=")) status = SetLocalRank(how.back() - '0');
  if (how == "hint") {
    status = SetLocalRank(3);
    if (SetLocalRank(-1).ok()) return absl::InternalError("a negative rank has been taken");
  } else {
    status = how == "sync" ? AdoptAndLeave() : InitializeAndFinalize(how);
  }
  PrintIdentity();
  return status;
}

}  // namespace muster::testing
