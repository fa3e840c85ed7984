// A hostile member, or a process that has a member's secret and session, cannot affect what belongs
// to other members.

#include <future>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/credentials/process_secret.h"
#include "tests/server/service/test_job.h"

namespace muster::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Rank 2 is the hostile member.
class HostileMemberTest : public ::testing::Test {
 protected:
  std::future<absl::StatusOr<v1::AllGatherResponse>> Gather(int rank) {
    return std::async(std::launch::async,
                      [this, rank] { return job_[rank].AllGather(absl::StrCat("of ", rank)); });
  }
  // Expects that all members complete a collective, and get what they have sent.
  void ExpectUnharmed() {
    std::vector<std::future<absl::StatusOr<v1::AllGatherResponse>>> calls;
    for (int rank = 0; rank < 3; ++rank) calls.push_back(Gather(rank));
    for (auto& call : calls) {
      const auto gathered = call.get();
      ASSERT_THAT(gathered, IsOk());
      EXPECT_THAT(gathered->payloads(), ElementsAre("of 0", "of 1", "of 2"));
    }
  }
  // Returns the report of a new launcher that shows the hostile member's secret, and pretends to
  // know those of all others.
  v1::ReportInquiryRequest LyingReport(uint64_t number) {
    v1::ReportInquiryRequest report;
    report.set_number(number);
    report.mutable_launcher()->set_id(NewProcessSecret());
    report.mutable_launcher()->set_node("node-a");
    report.set_complete(true);
    for (int rank = 0; rank < 3; ++rank) {
      const bool own = &job_[rank] == &hostile_;
      v1::RankObservation* const seen = report.add_ranks();
      seen->set_secret(own ? hostile_.secret() : job_[rank].identity().incarnation());
      seen->set_rank(static_cast<uint32_t>(rank));
      seen->set_condition(v1::PROCESS_CONDITION_STOPPED);
      report.mutable_launcher()->add_process_secrets(seen->secret());
    }
    return report;
  }
  absl::Status AttachAgainWith(const v1::Claim& claim) {
    v1::AttachRequest request = hostile_.AttachRequest();
    request.set_attempt(1'000'000);
    *request.mutable_claim() = claim;
    hostile_.Disconnect();
    return hostile_.Attach(request);
  }

  // With a long grace, a member that attaches again is not lost in between, however slow the
  // machine is.
  static service::ServerOptions WithLongGrace() {
    service::ServerOptions options = TestOptions();
    options.core.member_grace = absl::Hours(1);
    return options;
  }

  const std::unique_ptr<service::Server> server_ = StartServer(WithLongGrace());
  TestJob job_{server_->address(), 3};
  TestMember& hostile_ = job_[2];
};

TEST_F(HostileMemberTest, CannotCallForAnotherMember) {
  auto first = Gather(0);
  AwaitStatus(hostile_.stub(), [](const v1::GetStatusResponse& status) {
    return status.pending_collectives_size() == 1;
  });
  v1::NodeCollectiveRequest node;  // as if both had arrived together
  *node.mutable_context() = hostile_.CollectiveContext();
  node.set_kind(v1::COLLECTIVE_KIND_ALL_GATHER);
  for (int rank = 1; rank < 3; ++rank) {
    v1::NodeArrival* const part = node.add_parts();
    *part->mutable_session() = job_[rank].attached().session();
    if (rank == 1) part->mutable_session()->set_key(hostile_.attached().session().key());
    part->set_attempt(1'000'000);
    part->set_payload("forged");
  }
  const auto answer = hostile_.Call(&Stub::NodeCollective, node);
  ASSERT_THAT(answer, IsOk());
  EXPECT_TRUE(answer->resend());
  v1::AllGatherRequest alone;  // as the other member, whose session it knows except for the key
  *alone.mutable_context() = hostile_.CollectiveContext();
  *alone.mutable_context()->mutable_call()->mutable_session() = node.parts(0).session();
  alone.set_payload("forged");
  EXPECT_THAT(hostile_.Call(&Stub::AllGather, alone), Not(IsOk()));
  auto second = Gather(1);
  auto third = Gather(2);
  for (auto* call : {&first, &second, &third}) {
    const auto gathered = call->get();
    ASSERT_THAT(gathered, IsOk());
    EXPECT_THAT(gathered->payloads(), ElementsAre("of 0", "of 1", "of 2"));
  }
}

TEST_F(HostileMemberTest, CannotReadOtherMembersData) {
  std::vector<std::future<absl::StatusOr<v1::GatherResponse>>> gathers;
  for (int rank = 0; rank < 3; ++rank) {
    gathers.push_back(std::async(std::launch::async, [this, rank] {
      return job_[rank].Gather(/*root=*/0, "for rank 0 alone");
    }));
  }
  ASSERT_THAT(gathers[0].get(), IsOk());
  ASSERT_THAT(gathers[1].get(), IsOk());
  const auto read = gathers[2].get();
  ASSERT_THAT(read, IsOk());
  EXPECT_THAT(read->payloads(), IsEmpty());
  v1::AllGatherRequest others;  // in a group that it does not belong to
  *others.mutable_context() = hostile_.CollectiveContext();
  others.mutable_context()->set_sequence(0);
  others.mutable_context()->mutable_group()->set_name("of others");
  others.mutable_context()->mutable_group()->add_ranks(0);
  others.mutable_context()->mutable_group()->add_ranks(1);
  EXPECT_THAT(hostile_.Call(&Stub::AllGather, others),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rank 2 is not in group")));
  ExpectUnharmed();
}

TEST_F(HostileMemberTest, CannotCompleteAnotherMembersLease) {
  const auto granted = job_[1].AcquireLease("weights", 1);
  ASSERT_THAT(granted, IsOk());
  const uint64_t token = granted->granted().token();
  EXPECT_THAT(hostile_.CompleteLease("weights", token, "forged"), Not(IsOk()));
  EXPECT_THAT(hostile_.CompleteLease("weights", token + 1, "forged"), Not(IsOk()));
  v1::Claim claim = hostile_.Claim();
  v1::CompletedLease* const done = claim.add_completed_leases();
  done->set_name("weights");
  done->set_scope(v1::LEASE_SCOPE_JOB);
  done->mutable_result()->set_token(token + 1);
  done->mutable_result()->set_value("forged");
  EXPECT_THAT(AttachAgainWith(claim), IsOk());
  ASSERT_THAT(job_[1].CompleteLease("weights", token, "true"), IsOk());
  done->mutable_result()->set_token(token + 2);
  EXPECT_THAT(AttachAgainWith(claim), IsOk());
  const auto answered = job_[0].AcquireLease("weights", 1);
  ASSERT_THAT(answered, IsOk());
  EXPECT_EQ(answered->completed().value(), "true");
  ExpectUnharmed();
}

TEST_F(HostileMemberTest, CannotReportAnotherMembersExit) {
  v1::ReportExitRequest exit;
  exit.set_job_id("default");
  exit.set_signal(9);
  v1::ReportProcessStateRequest stop;
  stop.set_job_id("default");
  stop.set_state(v1::PROCESS_STATE_STOPPED);
  for (const std::string& guess :
       {job_[1].identity().incarnation(), hostile_.identity().incarnation()}) {
    exit.set_secret(guess);
    stop.set_secret(guess);
    EXPECT_THAT(hostile_.Call(&Stub::ReportExit, exit), IsOk());  // of an unknown process
    EXPECT_THAT(hostile_.Call(&Stub::ReportProcessState, stop), IsOk());
  }
  const auto status = GetStatus(hostile_.stub());
  ASSERT_THAT(status, IsOk());
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(status->members(rank).state(), v1::MEMBER_STATE_RUNNING) << "rank " << rank;
  }
  ExpectUnharmed();
}

// It may say what it likes of its own process.
TEST_F(HostileMemberTest, CannotReportOnAnotherMembersProcess) {
  const auto begun = hostile_.Call(&Stub::RequestInquiry, v1::RequestInquiryRequest());
  ASSERT_THAT(begun, IsOk());
  ASSERT_THAT(hostile_.Call(&Stub::ReportInquiry, LyingReport(begun->number())), IsOk());
  for (int launcher = 0; launcher < 9; ++launcher) {
    EXPECT_THAT(
        hostile_.Call(&Stub::ReportInquiry, LyingReport(begun->number())),
        StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no member of this job")));
  }
  v1::ReportInquiryRequest honest;
  honest.set_number(begun->number());
  honest.mutable_launcher()->set_id(NewProcessSecret());
  honest.mutable_launcher()->set_node("node-b");
  for (int rank = 0; rank < 2; ++rank) honest.add_ranks()->set_secret(job_[rank].secret());
  EXPECT_THAT(job_[0].Call(&Stub::ReportInquiry, honest), IsOk());
  const auto latest = hostile_.Call(&Stub::GetInquiry, v1::GetInquiryRequest());
  ASSERT_THAT(latest, IsOk());
  ASSERT_THAT(latest->reports(), SizeIs(2));
  for (const v1::LauncherReport& report : latest->reports()) {
    const bool lies = report.launcher().node() == "node-a";
    ASSERT_THAT(report.ranks(), SizeIs(lies ? 1 : 2));
    if (lies) {
      EXPECT_EQ(report.ranks(0).rank(), 2u);
    }
  }
  ExpectUnharmed();
}

}  // namespace
}  // namespace muster::testing
