// Requests with one invalid field. Each is refused with INVALID_ARGUMENT that names the field, and
// leaves nothing behind.
#include <functional>
#include <string>

#include "tests/server/service/raw_call.h"
#include "tests/server/service/test_job.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;

// One job of one member that all tests share. No test may change its state.
class MalformedTest : public ::testing::Test {
 protected:
  template <typename Request, typename Response>
  void Expect(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
              const Request& request, const std::string& text) {
    EXPECT_THAT(member_.Call(method, request),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text)));
  }

  void TearDown() override { EXPECT_THAT(member_.Barrier(), IsOk()); }

  v1::BarrierRequest Barrier() {
    v1::BarrierRequest request;
    *request.mutable_context() = member_.CollectiveContext();
    return request;
  }

  v1::AcquireLeaseRequest Acquire() {
    v1::AcquireLeaseRequest request;
    *request.mutable_call() = member_.CallContext();
    *request.mutable_epoch() = member_.epoch();
    request.set_name("unpack");
    request.set_scope(v1::LEASE_SCOPE_NODE);
    return request;
  }

  v1::CompleteLeaseRequest Complete() {
    v1::CompleteLeaseRequest request;
    *request.mutable_call() = member_.CallContext();
    request.set_name("unpack");
    request.set_scope(v1::LEASE_SCOPE_NODE);
    request.mutable_result()->set_token(1);
    request.mutable_result()->set_value("done");
    return request;
  }

  v1::ReportExitRequest Report() {
    v1::ReportExitRequest request;
    request.set_job_id("default");
    request.set_secret("never seen here.");
    request.set_exit_code(0);
    return request;
  }

  std::unique_ptr<service::Server> server_ = StartServer();
  TestJob job_{server_->address(), 1};
  TestMember& member_ = job_[0];
};

TEST_F(MalformedTest, Attach) {
  const auto expect = [&](const std::function<void(v1::AttachRequest*)>& spoil,
                          const std::string& text) {
    TestMember stranger(server_->address());
    v1::AttachRequest request = stranger.AttachRequest();
    spoil(&request);
    EXPECT_THAT(stranger.Attach(request),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text)));
  };
  expect([](auto* r) { r->clear_member(); }, "AttachRequest.member is missing");
  expect([](auto* r) { r->clear_job_id(); }, "job_id is empty");
  expect([](auto* r) { r->set_secret("short"); }, "AttachRequest.secret has 5 bytes");
  expect([](auto* r) { r->mutable_member()->clear_node_id(); }, "node_id is empty");
  expect([](auto* r) { r->mutable_member()->set_node_id("a\nb"); }, "control character");
  expect([](auto* r) { r->mutable_member()->set_node_id(std::string(257, 'n')); }, "257 bytes");
}

TEST_F(MalformedTest, StartTimesOutOfRange) {
  const auto expect = [&](int64_t seconds, int32_t nanos, const std::string& text) {
    TestMember stranger(server_->address());
    v1::AttachRequest request = stranger.AttachRequest();
    auto* time = request.mutable_member()->mutable_start_time();
    time->set_seconds(seconds);
    time->set_nanos(nanos);
    EXPECT_THAT(stranger.Attach(request),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("AttachRequest.member.start_time is " + text)));
    v1::AttachRequest claiming = stranger.AttachRequest();
    v1::Claim* claim = claiming.mutable_claim();
    claim->mutable_epoch()->set_number(1);
    claim->add_roster()->mutable_member()->Swap(request.mutable_member());
    EXPECT_THAT(stranger.Attach(claiming),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("AttachRequest.claim.roster.member.start_time is " + text)));
  };
  expect(-62135596801, 0,
         "-62135596801 seconds and 0 nanoseconds; expected a time from the year 1");
  expect(253402300800, 0, "253402300800 seconds");
  expect(int64_t{1} << 62, 0, "4611686018427387904 seconds");
  expect(0, -1, "0 seconds and -1 nanoseconds");
  expect(0, 1000000000, "0 seconds and 1000000000 nanoseconds");
}

TEST_F(MalformedTest, NodeCollectives) {
  const auto expect = [&](const std::function<void(v1::NodeCollectiveRequest*)>& spoil,
                          const std::string& text) {
    v1::NodeCollectiveRequest request;
    *request.mutable_context() = member_.CollectiveContext();
    request.set_kind(v1::COLLECTIVE_KIND_BARRIER);
    *request.add_parts()->mutable_session() = request.context().call().session();
    spoil(&request);
    Expect(&Stub::NodeCollective, request, text);
  };
  expect([](auto* r) { r->clear_context(); }, "NodeCollectiveRequest.context is missing");
  expect([](auto* r) { r->clear_kind(); }, "NodeCollectiveRequest.kind is 0");
  expect([](auto* r) { r->set_kind(static_cast<v1::CollectiveKind>(5)); }, "kind is 5; expected");
  expect([](auto* r) { r->clear_parts(); }, "has no parts");
  expect([](auto* r) { r->mutable_parts(0)->clear_session(); }, "parts.session is missing");
  expect([](auto* r) { r->mutable_parts(0)->mutable_wait_timeout()->set_seconds(-1); },
         "parts.wait_timeout is -1s");
  expect([](auto* r) { r->mutable_context()->set_type_name(std::string(257, 'x')); }, "257 bytes");
}

TEST_F(MalformedTest, Withdrawals) {
  v1::WithdrawArrivalRequest request;
  *request.mutable_call() = member_.CallContext();
  *request.mutable_epoch() = member_.epoch();
  v1::WithdrawArrivalRequest spoilt = request;
  spoilt.clear_call();
  Expect(&Stub::WithdrawArrival, spoilt, "WithdrawArrivalRequest.call is missing");
  spoilt = request;
  spoilt.clear_epoch();
  Expect(&Stub::WithdrawArrival, spoilt, "WithdrawArrivalRequest.epoch is missing");
  spoilt = request;
  spoilt.mutable_group()->set_name("unknown");
  Expect(&Stub::WithdrawArrival, spoilt, "names its ranks");
}

TEST_F(MalformedTest, Releases) {
  v1::ReleaseGroupsRequest request;
  *request.mutable_call() = member_.CallContext();
  *request.mutable_epoch() = member_.epoch();
  v1::ReleaseGroupsRequest spoilt = request;
  spoilt.clear_call();
  Expect(&Stub::ReleaseGroups, spoilt, "ReleaseGroupsRequest.call is missing");
  spoilt = request;
  spoilt.clear_epoch();
  Expect(&Stub::ReleaseGroups, spoilt, "ReleaseGroupsRequest.epoch is missing");
  spoilt = request;
  spoilt.add_released()->set_digest("short");
  Expect(&Stub::ReleaseGroups, spoilt, "digest has 5 bytes; expected 16");
  spoilt = request;
  spoilt.add_closed("");
  Expect(&Stub::ReleaseGroups, spoilt, "digest has 0 bytes; expected 16");
}

TEST_F(MalformedTest, Commits) {
  v1::ReportCommitsRequest request;
  *request.mutable_call() = member_.CallContext();
  *request.mutable_epoch() = member_.epoch();
  v1::NodeCommit* const commit = request.add_groups()->add_commits();
  commit->set_kind(v1::COLLECTIVE_KIND_BARRIER);
  v1::ReportCommitsRequest spoilt = request;
  spoilt.clear_call();
  Expect(&Stub::ReportCommits, spoilt, "ReportCommitsRequest.call is missing");
  spoilt = request;
  spoilt.clear_epoch();
  Expect(&Stub::ReportCommits, spoilt, "ReportCommitsRequest.epoch is missing");
  commit->clear_kind();
  Expect(&Stub::ReportCommits, request, "expected a COLLECTIVE_KIND, 1 to 4");
}

TEST_F(MalformedTest, TextsThatAreTooLong) {
  const std::string longest(256, 'x');
  v1::BarrierRequest barrier = Barrier();
  barrier.mutable_context()->set_label(longest + "x");
  Expect(&Stub::Barrier, barrier, "label has 257 bytes");
  barrier = Barrier();
  barrier.mutable_context()->set_type_name(longest + "x");
  Expect(&Stub::Barrier, barrier, "type name has 257 bytes");
  barrier = Barrier();
  barrier.mutable_context()->set_call_site(std::string(1025, 'x'));
  Expect(&Stub::Barrier, barrier, "call site has 1025 bytes");
  barrier = Barrier();
  barrier.mutable_context()->mutable_group()->set_name(longest + "x");
  barrier.mutable_context()->mutable_group()->add_ranks(0);
  Expect(&Stub::Barrier, barrier, "group name has 257 bytes");
  v1::AcquireLeaseRequest lease;
  *lease.mutable_call() = member_.CallContext();
  *lease.mutable_epoch() = member_.epoch();
  lease.set_scope(v1::LEASE_SCOPE_JOB);
  lease.set_name(longest + "x");
  Expect(&Stub::AcquireLease, lease, "its name has 257 bytes");
  const auto server = StartServer();
  TestMember newcomer(server->address());
  ASSERT_THAT(newcomer.Attach(), IsOk());
  v1::JoinRequest join;
  *join.mutable_call() = newcomer.CallContext();
  join.set_topology(longest + "x");
  EXPECT_THAT(newcomer.Call(&Stub::Join, join).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("topology has 257 bytes")));
  join.clear_topology();
  (*join.mutable_fingerprint()->mutable_facts())["NCCL_ALGO"] = std::string(513, 'x');
  EXPECT_THAT(newcomer.Call(&Stub::Join, join).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("fact 'NCCL_ALGO' has 513")));
  join.mutable_fingerprint()->clear_facts();
  join.mutable_fingerprint()->mutable_sent_at()->set_nanos(-1);
  EXPECT_THAT(newcomer.Call(&Stub::Join, join).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("fingerprint.sent_at is")));
}

TEST_F(MalformedTest, BytesThatAreNoMessage) {
  for (const std::string rpc : {"Attach", "Barrier", "AllGather", "CompleteLease", "GetStatus"}) {
    EXPECT_THAT(RawCall(server_->address(), "/muster.v1.CoordinatorService/" + rpc, "\xff"),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("not a valid muster.v1." + rpc + "Request")));
  }
}

TEST_F(MalformedTest, CallContext) {
  v1::JoinRequest join;
  Expect(&Stub::Join, join, "JoinRequest.call is missing");
  *join.mutable_call() = member_.CallContext();
  join.mutable_call()->clear_session();
  Expect(&Stub::Join, join, "JoinRequest.call.session is missing: call Attach first");

  v1::LeaveRequest leave;
  Expect(&Stub::Leave, leave, "LeaveRequest.call is missing");
  *leave.mutable_call() = member_.CallContext();
  Expect(&Stub::Leave, leave, "LeaveRequest.epoch is missing");

  Expect(&Stub::AbandonLease, v1::AbandonLeaseRequest(), "AbandonLeaseRequest.call is missing");
}

TEST_F(MalformedTest, WaitTimeout) {
  v1::BarrierRequest request = Barrier();
  auto* wait = request.mutable_context()->mutable_call()->mutable_wait_timeout();
  wait->set_seconds(-1);
  Expect(&Stub::Barrier, request, "BarrierRequest.context.call.wait_timeout is -1s");
  wait->set_seconds(0);
  wait->set_nanos(-1);
  Expect(&Stub::Barrier, request, "wait_timeout is -1ns");
  wait->set_seconds(int64_t{1} << 60);
  Expect(&Stub::Barrier, request, "(10 years)");
}

TEST_F(MalformedTest, Collectives) {
  Expect(&Stub::Barrier, v1::BarrierRequest(), "BarrierRequest.context is missing");
  v1::BarrierRequest barrier = Barrier();
  barrier.mutable_context()->clear_call();
  Expect(&Stub::Barrier, barrier, "BarrierRequest.context.call is missing");
  barrier = Barrier();
  barrier.mutable_context()->clear_epoch();
  Expect(&Stub::Barrier, barrier, "BarrierRequest.context.epoch is missing");
  barrier = Barrier();
  barrier.mutable_context()->set_label("tab\t");
  Expect(&Stub::Barrier, barrier, "label has a control character");
  Expect(&Stub::Gather, v1::GatherRequest(), "GatherRequest.context is missing");
  Expect(&Stub::AllGather, v1::AllGatherRequest(), "AllGatherRequest.context is missing");
  v1::BroadcastRequest broadcast;
  Expect(&Stub::Broadcast, broadcast, "BroadcastRequest.context is missing");
  *broadcast.mutable_context() = member_.CollectiveContext();
  broadcast.set_root(1);
  Expect(&Stub::Broadcast, broadcast, "root 1 is out of range");
}

TEST_F(MalformedTest, Groups) {
  v1::BarrierRequest request = Barrier();
  auto* group = request.mutable_context()->mutable_group();
  group->set_name("pair");
  Expect(&Stub::Barrier, request, "no group 'pair' that rank 0 is in");
  group->add_ranks(0);
  group->add_ranks(7);
  Expect(&Stub::Barrier, request, "names rank 7");
  group->set_ranks(1, 0);
  Expect(&Stub::Barrier, request, "names rank 0 twice");
}

TEST_F(MalformedTest, Leases) {
  v1::AcquireLeaseRequest acquire = Acquire();
  acquire.clear_scope();
  Expect(&Stub::AcquireLease, acquire, "AcquireLeaseRequest.scope is 0; expected LEASE_SCOPE_NODE");
  acquire.set_scope(static_cast<v1::LeaseScope>(9));
  Expect(&Stub::AcquireLease, acquire, "AcquireLeaseRequest.scope is 9");
  acquire = Acquire();
  acquire.clear_name();
  Expect(&Stub::AcquireLease, acquire, "name is empty");
  acquire = Acquire();
  acquire.clear_epoch();
  Expect(&Stub::AcquireLease, acquire, "AcquireLeaseRequest.epoch is missing");

  v1::CompleteLeaseRequest complete = Complete();
  complete.clear_result();
  Expect(&Stub::CompleteLease, complete, "CompleteLeaseRequest.result is missing");
  complete = Complete();
  complete.mutable_result()->clear_value();
  Expect(&Stub::CompleteLease, complete, "CompleteLeaseRequest.result.outcome is missing");
  complete = Complete();
  complete.mutable_result()->mutable_error()->set_message("no code");
  Expect(&Stub::CompleteLease, complete, "CompleteLeaseRequest.result.error.code is 0");
  complete.mutable_result()->mutable_error()->set_code(17);
  Expect(&Stub::CompleteLease, complete, "CompleteLeaseRequest.result.error.code is 17");

  v1::AbandonLeaseRequest abandon;
  *abandon.mutable_call() = member_.CallContext();
  abandon.set_name("unpack");
  Expect(&Stub::AbandonLease, abandon, "AbandonLeaseRequest.scope is 0");
}

TEST_F(MalformedTest, ReportExit) {
  v1::ReportExitRequest report = Report();
  report.clear_how();
  Expect(&Stub::ReportExit, report, "ReportExitRequest.how is missing");
  report.set_signal(0);
  Expect(&Stub::ReportExit, report, "ReportExitRequest.signal is 0; expected 1 to 64");
  report = Report();
  report.set_secret("short");
  Expect(&Stub::ReportExit, report, "ReportExitRequest.secret has 5 bytes");
  EXPECT_THAT(member_.Call(&Stub::ReportExit, Report()), IsOk());
  report = Report();
  report.set_given_up(std::string(1025, 'x'));
  Expect(&Stub::ReportExit, report, "given_up has 1025 bytes");
  report.set_given_up("two\nlines");
  Expect(&Stub::ReportExit, report, "given_up has a control character");
}

TEST_F(MalformedTest, Inquiries) {
  v1::RequestInquiryRequest request;
  request.set_reason("two\nlines");
  Expect(&Stub::RequestInquiry, request, "reason has a control character");

  v1::ReportInquiryRequest report;
  report.mutable_launcher()->set_node("n0");
  Expect(&Stub::ReportInquiry, report, "launcher.id has 0 bytes; expected 16");
  report.mutable_launcher()->set_id("sixteen bytes it");
  report.mutable_launcher()->clear_node();
  Expect(&Stub::ReportInquiry, report, "launcher.node is empty");
  report.mutable_launcher()->set_node("n0");
  report.add_ranks()->set_secret("short");
  Expect(&Stub::ReportInquiry, report, "ReportInquiryRequest.secret has 5 bytes");
  report.mutable_ranks(0)->set_secret("never seen here.");
  report.mutable_ranks(0)->set_call(std::string(1025, 'x'));
  Expect(&Stub::ReportInquiry, report, "ranks.call has 1025 bytes");
  report.clear_ranks();
  report.add_files()->set_name("../../etc/passwd");
  Expect(&Stub::ReportInquiry, report, "files.name is no relative path");

  v1::GetInquiryRequest question;
  question.mutable_launcher()->set_id("short");
  Expect(&Stub::GetInquiry, question, "launcher.id has 5 bytes");
  question.clear_launcher();
  question.mutable_wait_timeout()->set_seconds(-1);
  Expect(&Stub::GetInquiry, question, "GetInquiryRequest.wait_timeout");
}

}  // namespace
}  // namespace muster::testing
