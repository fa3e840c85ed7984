// Collectives that complete on their node, as the coordinator hears of them: R18 of
// docs/node-fan-in.md.

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/core/harness.h"

namespace muster::core {
namespace {

using ::testing::HasSubstr;

class CommitReportsTest : public ::testing::Test {
 protected:
  // Forms a job whose members commit on their nodes.
  void Form(const std::vector<std::string>& nodes) {
    h_.emplace(static_cast<uint32_t>(nodes.size()));
    std::vector<WaiterId> joins;
    for (const std::string& node : nodes) {
      p_.push_back(h_->New(node));
      Attach(p_.back());
      joins.push_back(h_->Join(p_.back()));
    }
    for (size_t i = 0; i < p_.size(); ++i) h_->TakePlace(p_[i], joins[i]);
  }
  WaiterId Attach(Process& process) {
    AttachRequest request = h_->AttachOf(process);
    request.commits_on_node = true;
    return h_->Attach(process, std::move(request));
  }
  WaiterId Recover(Process& process, uint64_t next_of_world) {
    AttachRequest request = h_->AttachOf(process);
    Claim claim = h_->ClaimOf(process, next_of_world);
    claim.roster = process.roster;
    request.claim = std::make_shared<const Claim>(std::move(claim));
    request.commits_on_node = true;
    return h_->Attach(process, std::move(request));
  }
  // Reports that the process has committed these collectives of the world.
  CommitReport Report(const Process& process, uint64_t first, uint64_t last) {
    CommitReport report;
    report.epoch = process.epoch;
    CommitReport::Group& world = report.groups.emplace_back();
    for (uint64_t sequence = first; sequence <= last; ++sequence) {
      CommitReport::Commit& commit = world.commits.emplace_back();
      commit.label = "step";
      commit.sequence = sequence;
      commit.delays.resize(p_.size());
      commit.delays.back() = absl::Milliseconds(5);
    }
    return report;
  }
  absl::Status Send(const Process& process, const CommitReport& report) {
    return h_->StatusOf(h_->Call(process, report));
  }
  WaiterId BarrierAt(Process& process, uint64_t sequence) {
    return h_->SendAt(process, sequence, CollectiveKind::kBarrier);
  }
  JobStatus Status() { return h_->coordinator().GetStatus(h_->now()); }

  std::optional<Harness> h_;
  std::vector<Process> p_;
};

TEST_F(CommitReportsTest, TheNextCallIsServedAtTheNumberThatFollows) {
  Form({"n0", "n0"});
  EXPECT_EQ(Send(p_[0], Report(p_[0], 0, 9)), absl::OkStatus());
  const WaiterId first = BarrierAt(p_[0], 10);
  EXPECT_TRUE(h_->Parked(first));
  const WaiterId second = BarrierAt(p_[1], 10);
  EXPECT_EQ(h_->StatusOf(first), absl::OkStatus());
  EXPECT_EQ(h_->StatusOf(second), absl::OkStatus());
}

TEST_F(CommitReportsTest, ACallThatIsAheadProvesTheCommitsBeforeItsReport) {
  Form({"n0", "n0", "n0"});
  const WaiterId first = BarrierAt(p_[0], 7);
  EXPECT_TRUE(h_->Parked(first));
  EXPECT_EQ(Send(p_[1], Report(p_[1], 3, 6)), absl::OkStatus()) << "late, and no contradiction";
  const WaiterId second = BarrierAt(p_[1], 7);
  const WaiterId third = BarrierAt(p_[2], 7);
  EXPECT_EQ(h_->StatusOf(first), absl::OkStatus());
  EXPECT_EQ(h_->StatusOf(second), absl::OkStatus());
  EXPECT_EQ(h_->StatusOf(third), absl::OkStatus());
}

TEST_F(CommitReportsTest, ABatchThatIsAheadIsTaken) {
  Form({"n0", "n0", "n0"});
  CollectiveRequest first = h_->Request(p_[0], CollectiveKind::kBarrier);
  CollectiveRequest second = h_->Request(p_[1], CollectiveKind::kBarrier);
  first.sequence = second.sequence = 4;
  const WaiterId batch = h_->Send(Harness::Together({first, second}));
  EXPECT_TRUE(h_->Parked(batch));
  EXPECT_EQ(h_->StatusOf(BarrierAt(p_[2], 4)), absl::OkStatus());
  EXPECT_EQ(h_->CompletedOf(batch).size(), 2u);
}

TEST_F(CommitReportsTest, ASendThatWasGivenUpBeforeTheCommitsEnds) {
  Form({"n0", "n0"});
  const WaiterId given_up = BarrierAt(p_[0], 0);
  EXPECT_EQ(Send(p_[1], Report(p_[1], 0, 4)), absl::OkStatus());
  EXPECT_FALSE(h_->Parked(given_up));
  const WaiterId late = BarrierAt(p_[0], 1);
  EXPECT_FALSE(h_->StatusOf(late).ok());
  const WaiterId first = BarrierAt(p_[0], 5);
  const WaiterId second = BarrierAt(p_[1], 5);
  EXPECT_EQ(h_->StatusOf(first), absl::OkStatus()) << "the group is not finished";
  EXPECT_EQ(h_->StatusOf(second), absl::OkStatus());
}

TEST_F(CommitReportsTest, ARepeatedReportCountsOnce) {
  Form({"n0", "n0"});
  const CommitReport report = Report(p_[0], 0, 19);
  EXPECT_EQ(Send(p_[0], report), absl::OkStatus());
  EXPECT_EQ(Send(p_[0], report), absl::OkStatus());
  const JobStatus status = Status();
  ASSERT_EQ(status.stragglers.size(), 1u);
  EXPECT_EQ(status.stragglers[0].rank, 1u);
  EXPECT_EQ(status.stragglers[0].collectives, 20u);
  EXPECT_EQ(status.stragglers[0].last, 20u);
}

TEST_F(CommitReportsTest, TheStatusNamesTheLastCommitOfEachRank) {
  Form({"n0", "n0"});
  EXPECT_EQ(Send(p_[0], Report(p_[0], 0, 3)), absl::OkStatus());
  for (const MemberStatus& member : Status().members) {
    EXPECT_EQ(member.last_collective, "Barrier('step') op 3 of the world");
    EXPECT_THAT(member.activity, HasSubstr("last completed Barrier('step') op 3 of the world"));
  }
}

TEST_F(CommitReportsTest, AReportWaitsForTheEndOfARecovery) {
  Form({"n0", "n0"});
  h_->Restart();
  Recover(p_[0], 5);
  const WaiterId report = h_->Call(p_[0], Report(p_[0], 5, 5));
  EXPECT_TRUE(h_->Parked(report));
  Recover(p_[1], 6);
  EXPECT_EQ(h_->StatusOf(report), absl::OkStatus());
  const WaiterId first = BarrierAt(p_[0], 6);
  BarrierAt(p_[1], 6);
  EXPECT_EQ(h_->StatusOf(first), absl::OkStatus());
}

TEST_F(CommitReportsTest, AMemberThatAttachesAgainClaimsItsCommits) {
  Form({"n0", "n0"});
  h_->CloseStream(p_[0]);
  Recover(p_[0], 8);
  const WaiterId first = BarrierAt(p_[0], 8);
  BarrierAt(p_[1], 8);
  EXPECT_EQ(h_->StatusOf(first), absl::OkStatus());
}

TEST_F(CommitReportsTest, AMemberThatHasNotOfferedCannotSkipAhead) {
  h_.emplace(2);
  p_ = h_->Formed(2);
  const absl::Status refused = Send(p_[0], Report(p_[0], 0, 4));
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("has not offered"));
  EXPECT_EQ(h_->StatusOf(BarrierAt(p_[0], 5)).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(CommitReportsTest, RanksOfSeveralNodesCannotSkipAhead) {
  Form({"n0", "n1"});
  const absl::Status refused = Send(p_[0], Report(p_[0], 0, 4));
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("several nodes"));
  EXPECT_EQ(h_->StatusOf(BarrierAt(p_[0], 5)).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(CommitReportsTest, MalformedReportsChangeNothing) {
  Form({"n0", "n0"});
  CommitReport few = Report(p_[0], 0, 4);
  few.groups[0].commits[4].delays.pop_back();
  EXPECT_EQ(Send(p_[0], few).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Send(p_[0], Report(p_[0], 0, 1024)).code(), absl::StatusCode::kResourceExhausted);
  CommitReport far = Report(p_[0], 0, 0);
  far.groups[0].commits[0].sequence = ~uint64_t{0};
  EXPECT_EQ(Send(p_[0], far).code(), absl::StatusCode::kInvalidArgument);
  CommitReport unknown = Report(p_[0], 0, 0);
  unknown.groups[0].name = {"gone", {}};
  EXPECT_EQ(Send(p_[0], unknown), absl::OkStatus()) << "a forgotten group";
  const WaiterId first = BarrierAt(p_[0], 0);
  BarrierAt(p_[1], 0);
  EXPECT_EQ(h_->StatusOf(first), absl::OkStatus());
}

TEST_F(CommitReportsTest, JoinTellsOfAStopThatWasAskedForBefore) {
  h_.emplace(Harness::ElasticOptions(1, 2));
  std::vector<WaiterId> joins;
  for (int i = 0; i < 2; ++i) {
    p_.push_back(h_->New());
    Attach(p_.back());
    joins.push_back(h_->Join(p_.back()));
  }
  for (int i = 0; i < 2; ++i) h_->TakePlace(p_[i], joins[i]);
  EXPECT_FALSE(std::get<JoinAnswer>(h_->ReplyTo(joins[0]).answer).stop_asked);
  h_->Call(p_[0], StopRequest());
  h_->ReportExit(p_[0], /*signaled=*/true, 9);
  Process late = h_->New();
  Attach(late);
  const WaiterId join = h_->Join(late);
  const WaiterId rejoin = h_->Rejoin(p_[1]);
  EXPECT_TRUE(std::get<JoinAnswer>(h_->ReplyTo(join).answer).stop_asked);
  EXPECT_TRUE(std::get<JoinAnswer>(h_->ReplyTo(rejoin).answer).stop_asked);
}

}  // namespace
}  // namespace muster::core
