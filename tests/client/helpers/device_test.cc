// Tests which device a job computes on and which backend it uses, in a program that links only
// Gloo.

#include <cstdlib>
#include <optional>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "muster/toolkits.h"
#include "tests/client/daemon/jobs.h"

namespace muster::testing {
namespace {

using toolkits::AvailableBackends;
using toolkits::BackendOf;
using toolkits::CommunicationModel;
using toolkits::CurrentJob;
using toolkits::DeviceOf;
using toolkits::Finalize;
using toolkits::GetHostname;
using toolkits::GpuMemUsage;
using toolkits::InferDevice;
using toolkits::Initialize;
using toolkits::ShowConfig;

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Sets MUSTER_BACKEND while it lives.
class NamedBackend {
 public:
  explicit NamedBackend(const char* name) { setenv("MUSTER_BACKEND", name, 1); }
  ~NamedBackend() { unsetenv("MUSTER_BACKEND"); }
};

TEST(DeviceTest, SerialModeHasNoBackendAndComputesOnTheCpu) {
  const auto job = Job::Join(JobOptions());
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(BackendOf(**job).value_or("?"), "");
  EXPECT_EQ(DeviceOf(**job).value_or("?"), "cpu");
  EXPECT_EQ(CommunicationModel(**job), "serial");
  EXPECT_EQ(InferDevice().value_or("?"), "cpu");
  EXPECT_EQ(GpuMemUsage(), 0);
}

TEST(DeviceTest, ADistributedJobUsesGlooOnTheCpu) {
  EXPECT_THAT(AvailableBackends(), ElementsAre("gloo"));
  Jobs jobs(2);
  jobs.Run([](int rank, Job& job) {
    EXPECT_EQ(BackendOf(job).value_or("?"), "gloo");
    EXPECT_EQ(DeviceOf(job).value_or("?"), "cpu");
    EXPECT_EQ(CommunicationModel(job), "muster-gloo");
  });
}

TEST(DeviceTest, AnUnknownBackendsErrorListsTheLinkedBackends) {
  Jobs jobs(1);
  const NamedBackend unknown("mpi");
  for (const auto& value : {BackendOf(jobs[0]), DeviceOf(jobs[0]), InferDevice()}) {
    EXPECT_TRUE(absl::IsNotFound(value.status())) << value.status();
    EXPECT_THAT(Message(value), AllOf(HasSubstr("'mpi'"), HasSubstr("linked: gloo")));
  }
  EXPECT_EQ(CommunicationModel(jobs[0]), "muster");
}

TEST(DeviceTest, ShowConfigLogsOneLine) {
  Jobs jobs(3, {},
            [](int index, JobOptions* options) { options->node_id = index < 2 ? "a" : "b"; });
  std::vector<std::string> lines;
  SetLogSink([&](LogLevel, absl::string_view line) { lines.emplace_back(line); });
  ShowConfig(jobs[1]);
  SetLogSink(nullptr);
  const std::string line = absl::StrCat(
      "distributed configuration: muster-gloo, backend gloo, device cpu, hostname ", GetHostname(),
      ", world size 3, rank 1, local rank 1, processes per node 2, number of nodes 2, "
      "node rank 0");
  EXPECT_THAT(lines, ::testing::Contains(line));
}

TEST(DeviceTest, InitializeRefusesABackendThatIsNotLinkedBeforeItJoins) {
  JobOptions nobody;
  nobody.coordinator = "127.0.0.1:1";
  const absl::Status status = Initialize(nobody, "nccl");
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(Message(status), AllOf(HasSubstr("Initialize() asks for the backend 'nccl'"),
                                     HasSubstr("linked: gloo")));
}

TEST(DeviceTest, InitializeRemembersTheBackendOfTheJob) {
  const auto daemon = TestDaemon::Start({"--world-size=1"});
  const NamedBackend unknown("mpi");  // the program's own choice comes first
  ASSERT_TRUE(Initialize(OptionsFor(daemon->address()), "gloo").ok());
  EXPECT_EQ(BackendOf(CurrentJob()).value_or("?"), "gloo");
  EXPECT_EQ(InferDevice().value_or("?"), "cpu");
  EXPECT_TRUE(Finalize().ok());
}

TEST(DeviceTest, InitializeTakesTheRestFromTheEnvironment) {
  const auto daemon = TestDaemon::Start({"--world-size=2"});
  setenv("MUSTER_COORDINATOR", daemon->address().c_str(), 1);
  const absl::Status status = Initialize("gloo", absl::Milliseconds(100));
  unsetenv("MUSTER_COORDINATOR");
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
}

}  // namespace
}  // namespace muster::testing
