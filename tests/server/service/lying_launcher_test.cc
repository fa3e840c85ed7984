// A caller that pretends to be a launcher of this job.

#include <future>
#include <string>
#include <vector>

#include "common/credentials/process_secret.h"
#include "tests/server/service/test_job.h"

namespace muster::testing {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Property;
using ::testing::SizeIs;

v1::LauncherIdentity Launcher(const std::string& id, const std::string& node) {
  v1::LauncherIdentity launcher;
  launcher.set_id(id);
  launcher.set_node(node);
  return launcher;
}

class LyingLauncherTest : public ::testing::Test {
 protected:
  uint64_t Inquire() {
    const auto begun = liar_.Call(&Stub::RequestInquiry, v1::RequestInquiryRequest());
    EXPECT_THAT(begun, IsOk());
    return begun->number();
  }
  // Returns a true report: the launcher of both ranks says that rank 1 is stopped, and that more
  // follows.
  v1::ReportInquiryRequest TrueReport(uint64_t number) {
    v1::ReportInquiryRequest report;
    report.set_number(number);
    *report.mutable_launcher() = Launcher(launchers_secret_, "node-a");
    for (int rank = 0; rank < 2; ++rank) {
      report.mutable_launcher()->add_process_secrets(job_[rank].secret());
      v1::RankObservation* const seen = report.add_ranks();
      seen->set_secret(job_[rank].secret());
      seen->set_condition(rank == 1 ? v1::PROCESS_CONDITION_STOPPED
                                    : v1::PROCESS_CONDITION_SLEEPING);
    }
    return report;
  }
  v1::GetInquiryResponse Latest() {
    const auto inquiry = liar_.Call(&Stub::GetInquiry, v1::GetInquiryRequest());
    EXPECT_THAT(inquiry, IsOk());
    return *inquiry;
  }

  const std::unique_ptr<service::Server> server_ = StartServer();
  TestJob job_{server_->address(), 2};
  const std::string launchers_secret_ = NewProcessSecret();
  TestMember liar_{server_->address()};  // has not attached
};

TEST_F(LyingLauncherTest, CannotReportForAnotherLauncher) {
  const uint64_t number = Inquire();
  ASSERT_THAT(job_[0].Call(&Stub::ReportInquiry, TrueReport(number)), IsOk());
  const v1::GetInquiryResponse latest = Latest();
  ASSERT_THAT(latest.reports(), SizeIs(1));
  const v1::LauncherIdentity known = latest.reports(0).launcher();
  EXPECT_NE(known.id(), launchers_secret_);
  EXPECT_THAT(known.process_secrets(), IsEmpty());
  v1::ReportInquiryRequest nothing;
  nothing.set_number(number);
  *nothing.mutable_launcher() = known;
  EXPECT_THAT(liar_.Call(&Stub::ReportInquiry, nothing), Not(IsOk()));
  const v1::GetInquiryResponse after = Latest();
  ASSERT_THAT(after.reports(), SizeIs(1));
  EXPECT_THAT(after.reports(0).ranks(), SizeIs(2));
}

TEST_F(LyingLauncherTest, CannotEndAnotherLaunchersCall) {
  v1::GetInquiryRequest waits;
  waits.mutable_wait_timeout()->set_seconds(60);
  *waits.mutable_launcher() = Launcher(launchers_secret_, "node-a");
  auto parked =
      std::async(std::launch::async, [&] { return job_[0].Call(&Stub::GetInquiry, waits); });
  v1::GetInquiryRequest in_its_name = waits;
  in_its_name.mutable_launcher()->set_id(IncarnationOf(launchers_secret_));
  auto forged =
      std::async(std::launch::async, [&] { return liar_.Call(&Stub::GetInquiry, in_its_name); });
  const uint64_t number = Inquire();
  for (auto* call : {&parked, &forged}) {
    const auto answer = call->get();
    ASSERT_THAT(answer, IsOk());
    EXPECT_EQ(answer->inquiry().number(), number);
  }
}

TEST_F(LyingLauncherTest, CannotBlockOtherReports) {
  const uint64_t number = Inquire();
  v1::ReportInquiryRequest full;
  full.set_number(number);
  v1::BundleFile* const file = full.add_files();
  file->set_name("host.txt");
  file->set_content(std::string(4'000'000, 'x'));
  for (int launcher = 0; launcher < 17; ++launcher) {  // as many as there is room for
    *full.mutable_launcher() = Launcher(NewProcessSecret(), "node-a");
    EXPECT_THAT(
        liar_.Call(&Stub::ReportInquiry, full),
        StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no member of this job")));
  }
  EXPECT_THAT(job_[0].Call(&Stub::ReportInquiry, TrueReport(number)), IsOk());
  EXPECT_THAT(Latest().reports(), SizeIs(1));
}

// Two of three members have joined, and the third process has been started.
TEST(FormingJobTest, OnlyAMemberGivesUpItsPlace) {
  const auto server = StartServer();
  std::vector<std::unique_ptr<TestMember>> members;
  for (int i = 0; i < 3; ++i) members.push_back(std::make_unique<TestMember>(server->address()));
  v1::ReportProcessStateRequest started;
  started.set_job_id("default");
  started.set_secret(members[2]->secret());
  started.set_state(v1::PROCESS_STATE_RUNNING);
  ASSERT_THAT(members[2]->Call(&Stub::ReportProcessState, started), IsOk());
  std::vector<std::future<absl::StatusOr<v1::JoinResponse>>> joins;
  for (int i = 0; i < 2; ++i) {
    ASSERT_THAT(members[i]->Attach(), IsOk());
    joins.push_back(std::async(std::launch::async, [&, i] { return members[i]->Join(3); }));
  }
  AwaitStatus(members[0]->stub(), [](const v1::GetStatusResponse& status) {
    return status.members_size() == 2 && status.members(0).state() == v1::MEMBER_STATE_JOINING &&
           status.members(1).state() == v1::MEMBER_STATE_JOINING;
  });
  v1::ReportExitRequest given_up;
  given_up.set_job_id("default");
  given_up.set_secret(NewProcessSecret());
  given_up.set_exit_code(3);
  given_up.set_given_up("because I say so");
  TestMember stranger(server->address());
  EXPECT_THAT(stranger.Call(&Stub::ReportExit, given_up), IsOk());
  const auto status = GetStatus(stranger.stub(), "", /*with_timeline=*/true);
  ASSERT_THAT(status, IsOk());
  EXPECT_THAT(status->timeline(),
              Each(Property(&v1::TimelineEntry::text, Not(HasSubstr("the job fails in")))));
  ASSERT_THAT(members[2]->Attach(), IsOk());
  EXPECT_THAT(members[2]->Join(3), IsOk());
  for (auto& join : joins) EXPECT_THAT(join.get(), IsOk());
}

}  // namespace
}  // namespace muster::testing
