// A stranger that reaches the daemon gets nowhere, although it knows the job, its ranks and all
// that the daemon tells any caller.

#include <functional>
#include <future>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/credentials/process_secret.h"
#include "tests/server/service/test_job.h"

namespace muster::testing {
namespace {

using ::testing::AnyOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Property;

// The errors for callers that the daemon does not know.
const auto kRejected =
    AnyOf(absl::StatusCode::kAborted, absl::StatusCode::kUnavailable,
          absl::StatusCode::kFailedPrecondition, absl::StatusCode::kPermissionDenied);

class StrangerTest : public ::testing::Test {
 protected:
  StrangerTest() {
    EXPECT_THAT(stranger_.Attach(), IsOk());
    const auto status = GetStatus(stranger_.stub());
    EXPECT_THAT(status, IsOk());
    status_ = *status;
  }

  // Returns the call context that a stranger can guess: the daemon's instance, which any Attach
  // call returns, and the session's counter, which is a small number.
  v1::CallContext Guess(uint64_t counter) {
    v1::CallContext call = stranger_.CallContext();
    call.mutable_session()->set_counter(counter);
    call.mutable_session()->set_key(RandomNumber());
    call.set_attempt(1'000'000);
    return call;
  }
  absl::Status AttachAgain(v1::AttachRequest request) {
    stranger_.Disconnect();
    request.set_attempt(1'000'000);
    return stranger_.Attach(request);
  }
  v1::CollectiveContext GuessCollective(uint64_t counter) {
    v1::CollectiveContext context;
    *context.mutable_call() = Guess(counter);
    *context.mutable_epoch() = status_.epoch();
    return context;
  }
  // Tries all sessions that may exist.
  void ExpectRejected(const std::function<absl::Status(uint64_t counter)>& call) {
    for (uint64_t counter = 0; counter < 8; ++counter) {
      EXPECT_THAT(call(counter), StatusIs(kRejected, ::testing::_)) << "session " << counter;
    }
  }
  template <typename Response, typename Request>
  void ExpectRejected(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                      Request request) {
    ExpectRejected([&](uint64_t counter) {
      *request.mutable_call() = Guess(counter);
      return stranger_.Call(method, request).status();
    });
  }

  // Expects that the job is unharmed: all members complete a collective and get what they have
  // sent.
  void ExpectUnharmed() {
    std::vector<std::future<absl::StatusOr<v1::AllGatherResponse>>> calls;
    for (int rank = 0; rank < 3; ++rank) {
      calls.push_back(std::async(std::launch::async, [this, rank] {
        return job_[rank].AllGather(absl::StrCat("of ", rank));
      }));
    }
    for (auto& call : calls) {
      const auto gathered = call.get();
      ASSERT_THAT(gathered, IsOk());
      EXPECT_THAT(gathered->payloads(), ElementsAre("of 0", "of 1", "of 2"));
      EXPECT_FALSE(gathered->stop_requested());
    }
    const auto status = GetStatus(stranger_.stub());
    ASSERT_THAT(status, IsOk());
    EXPECT_EQ(status->state(), v1::JOB_STATE_RUNNING);
    // The stranger itself may be listed as lost, without a rank.
    for (const v1::Failure& failure : status->recent_failures()) EXPECT_FALSE(failure.has_rank());
    EXPECT_FALSE(status->stop_requested());
    for (int rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(status->members(rank).state(), v1::MEMBER_STATE_RUNNING) << "rank " << rank;
    }
  }

  const std::unique_ptr<service::Server> server_ = StartServer();
  TestJob job_{server_->address(), 3};
  TestMember stranger_{server_->address()};
  v1::GetStatusResponse status_;
};

TEST_F(StrangerTest, CannotFinishTheJob) {
  v1::LeaveRequest leave;
  *leave.mutable_epoch() = status_.epoch();
  ExpectRejected(&Stub::Leave, leave);
  EXPECT_THAT(stranger_.Leave(), Not(IsOk()));
  ExpectUnharmed();
}

TEST_F(StrangerTest, CannotStopIt) {
  ExpectRejected(&Stub::RequestStop, v1::RequestStopRequest());
  v1::RequestStopRequest own;
  *own.mutable_call() = stranger_.CallContext();
  EXPECT_THAT(stranger_.Call(&Stub::RequestStop, own), Not(IsOk()));
  ExpectUnharmed();
}

TEST_F(StrangerTest, CannotStopItByAClaim) {
  v1::AttachRequest request = stranger_.AttachRequest();
  request.mutable_claim()->set_stop_asked(true);
  EXPECT_THAT(AttachAgain(request), IsOk());
  ExpectUnharmed();
}

TEST_F(StrangerTest, CannotBreakIt) {
  v1::RejoinRequest rejoin;
  *rejoin.mutable_claim()->mutable_epoch() = status_.epoch();
  ExpectRejected(&Stub::Rejoin, rejoin);
  v1::AttachRequest request = stranger_.AttachRequest();
  *request.mutable_claim()->mutable_epoch() = status_.epoch();
  request.mutable_claim()->mutable_broken()->set_reason("because I say so");
  EXPECT_THAT(AttachAgain(request), StatusIs(kRejected, HasSubstr("is over")));
  request.mutable_claim()->mutable_epoch()->set_number(status_.epoch().number() + 1);
  EXPECT_THAT(AttachAgain(request), StatusIs(kRejected, HasSubstr("is over")));
  ExpectUnharmed();
}

TEST_F(StrangerTest, CannotAttachAsARank) {
  for (const v1::MemberStatus& member : status_.members()) {
    v1::AttachRequest request = stranger_.AttachRequest();
    *request.mutable_member() = member.member();
    const auto refused = StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("secret"));
    if (!member.has_rank()) continue;
    EXPECT_THAT(AttachAgain(request), refused);
    request.set_secret(member.member().incarnation());
    EXPECT_THAT(AttachAgain(request), refused);
  }
  ExpectUnharmed();
}

TEST_F(StrangerTest, CannotTakeARanksPlace) {
  TestMember::Options later;
  later.start_time_seconds = 1'000'000'000;
  TestMember newcomer(server_->address(), later);
  ASSERT_THAT(newcomer.Attach(), IsOk());
  v1::JoinRequest join;
  *join.mutable_call() = newcomer.CallContext();
  join.set_rank(1);
  EXPECT_THAT(newcomer.Call(&Stub::Join, join), Not(IsOk()));
  ExpectUnharmed();
}

TEST_F(StrangerTest, CannotReportAnExit) {
  for (const v1::MemberStatus& member : status_.members()) {
    v1::ReportExitRequest report;
    report.set_job_id("default");
    report.set_secret(member.member().incarnation());
    report.set_signal(9);
    EXPECT_THAT(stranger_.Call(&Stub::ReportExit, report), IsOk());  // of an unknown process
  }
  ExpectUnharmed();
}

TEST_F(StrangerTest, CannotReportAStop) {
  v1::ReportProcessStateRequest report;
  report.set_job_id("default");
  report.set_secret(status_.members(1).member().incarnation());
  report.set_state(v1::PROCESS_STATE_STOPPED);
  EXPECT_THAT(stranger_.Call(&Stub::ReportProcessState, report), IsOk());
  ExpectUnharmed();
}

// A launcher may report processes at any time, and give one of them up.
TEST_F(StrangerTest, CannotGiveUpAFormedJob) {
  v1::ReportProcessStateRequest started;
  started.set_job_id("default");
  started.set_state(v1::PROCESS_STATE_RUNNING);
  for (int process = 0; process < 3; ++process) {
    started.set_secret(NewProcessSecret());
    EXPECT_THAT(stranger_.Call(&Stub::ReportProcessState, started), IsOk());
  }
  v1::ReportExitRequest given_up;
  given_up.set_job_id("default");
  given_up.set_secret(started.secret());
  given_up.set_exit_code(3);
  given_up.set_given_up("because I say so");
  EXPECT_THAT(stranger_.Call(&Stub::ReportExit, given_up), IsOk());
  const auto status = GetStatus(stranger_.stub(), "", /*with_timeline=*/true);
  ASSERT_THAT(status, IsOk());
  EXPECT_THAT(status->timeline(),
              Each(Property(&v1::TimelineEntry::text, Not(HasSubstr("the job fails in")))));
  ExpectUnharmed();
}

// A stranger may ask for an inquiry, as it may ask for the status. Its reports about ranks are not
// accepted, since it knows no secret of theirs.
TEST_F(StrangerTest, CannotReportARanksActivity) {
  auto parked = std::async(std::launch::async, [this] { return job_[0].AllGather("of 0"); });
  AwaitStatus(stranger_.stub(), [](const v1::GetStatusResponse& status) {
    return status.pending_collectives_size() == 1;
  });
  const auto number = stranger_.Call(&Stub::RequestInquiry, v1::RequestInquiryRequest());
  ASSERT_THAT(number, IsOk());
  v1::ReportInquiryRequest report;
  report.set_number(number->number());
  report.mutable_launcher()->set_id("sixteen bytes it");
  report.mutable_launcher()->set_node("anywhere");
  for (const v1::MemberStatus& member : status_.members()) {
    v1::RankObservation* const forged = report.add_ranks();
    forged->set_secret(member.member().incarnation());
    forged->set_condition(v1::PROCESS_CONDITION_STOPPED);
  }
  report.set_complete(true);
  EXPECT_THAT(stranger_.Call(&Stub::ReportInquiry, report),
              StatusIs(kRejected, HasSubstr("no member of this job")));
  const auto inquiry = stranger_.Call(&Stub::GetInquiry, v1::GetInquiryRequest());
  ASSERT_THAT(inquiry, IsOk());
  EXPECT_THAT(inquiry->inquiry().verdict(), Not(HasSubstr("it is stopped")));
  auto second = std::async(std::launch::async, [this] { return job_[1].AllGather("of 1"); });
  auto third = std::async(std::launch::async, [this] { return job_[2].AllGather("of 2"); });
  for (auto* call : {&parked, &second, &third}) EXPECT_THAT(call->get(), IsOk());
  ExpectUnharmed();
}

// Rank 1 is about to make its call. A caller that could take its place could give the others false
// data, or leave rank 1 out of step for good.
TEST_F(StrangerTest, CannotCallInARanksPlace) {
  auto first = std::async(std::launch::async, [this] { return job_[0].AllGather("of 0"); });
  AwaitStatus(stranger_.stub(), [](const v1::GetStatusResponse& status) {
    return status.pending_collectives_size() == 1;
  });
  ExpectRejected([&](uint64_t counter) {
    v1::AllGatherRequest forged;
    *forged.mutable_context() = GuessCollective(counter);
    forged.set_payload("forged");
    return stranger_.Call(&Stub::AllGather, forged).status();
  });
  ExpectRejected([&](uint64_t counter) {  // at an attempt that rank 1 never reaches
    v1::BarrierRequest other;
    *other.mutable_context() = GuessCollective(counter);
    return stranger_.Call(&Stub::Barrier, other).status();
  });
  ExpectRejected([&](uint64_t counter) {  // together with the stranger's own arrival
    v1::NodeCollectiveRequest node;
    *node.mutable_context() = GuessCollective(counter);
    node.set_kind(v1::COLLECTIVE_KIND_BARRIER);
    *node.add_parts()->mutable_session() = node.context().call().session();
    return stranger_.Call(&Stub::NodeCollective, node).status();
  });
  v1::WithdrawArrivalRequest withdraw;
  *withdraw.mutable_epoch() = status_.epoch();
  ExpectRejected(&Stub::WithdrawArrival, withdraw);
  v1::ReleaseGroupsRequest release;
  *release.mutable_epoch() = status_.epoch();
  release.add_closed(std::string(16, 'x'));
  ExpectRejected(&Stub::ReleaseGroups, release);
  v1::ReportCommitsRequest report;
  *report.mutable_epoch() = status_.epoch();
  ExpectRejected(&Stub::ReportCommits, report);
  auto second = std::async(std::launch::async, [this] { return job_[1].AllGather("of 1"); });
  auto third = std::async(std::launch::async, [this] { return job_[2].AllGather("of 2"); });
  for (auto* call : {&first, &second, &third}) {
    const auto gathered = call->get();
    ASSERT_THAT(gathered, IsOk());
    EXPECT_THAT(gathered->payloads(), ElementsAre("of 0", "of 1", "of 2"));
  }
  ExpectUnharmed();
}

TEST_F(StrangerTest, CannotTakeOrCompleteALease) {
  const auto granted = job_[1].AcquireLease("weights", 1);
  ASSERT_THAT(granted, IsOk());
  const uint64_t token = granted->granted().token();
  EXPECT_THAT(stranger_.CompleteLease("weights", token, "forged"), Not(IsOk()));
  v1::AbandonLeaseRequest abandon;
  abandon.set_name("weights");
  abandon.set_scope(v1::LEASE_SCOPE_JOB);
  abandon.set_request_id(1);
  ExpectRejected(&Stub::AbandonLease, abandon);
  v1::AttachRequest claiming = stranger_.AttachRequest();
  v1::CompletedLease* done = claiming.mutable_claim()->add_completed_leases();
  done->set_name("weights");
  done->set_scope(v1::LEASE_SCOPE_JOB);
  done->mutable_result()->set_token(token + 1);
  done->mutable_result()->set_value("forged");
  EXPECT_THAT(AttachAgain(claiming), IsOk());
  ASSERT_THAT(job_[1].CompleteLease("weights", token, "true"), IsOk());
  const auto answered = job_[2].AcquireLease("weights", 1);
  ASSERT_THAT(answered, IsOk());
  EXPECT_EQ(answered->completed().value(), "true");
  ExpectUnharmed();
}

TEST(SessionsTest, HaveUnpredictableKeys) {
  const auto server = StartServer();
  TestJob job(server->address(), 3);
  std::vector<uint64_t> small;
  for (int rank = 0; rank < 3; ++rank) {
    const uint64_t key = job[rank].attached().session().key();
    if (key >> 32 == 0) small.push_back(key);
    for (int other = 0; other < rank; ++other) {
      EXPECT_NE(key, job[other].attached().session().key());
    }
  }
  EXPECT_THAT(small, IsEmpty());
}

}  // namespace
}  // namespace muster::testing
