// Tests which backend a communicator gets, and communicators of one rank.

#include <cstdlib>
#include <vector>

#include "client/src/data_plane/backend_registry.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "muster/communicator.h"
#include "muster/log.h"
#include "tests/client/data_plane/recording_backend.h"
#include "tests/util/fakes/fake_job.h"

namespace muster {
namespace {

using ::muster::testing::FakeJob;
using ::muster::testing::Record;
using ::muster::testing::RecordingBackend;
using ::testing::AllOf;
using ::testing::HasSubstr;

// ---- The choice of a backend ----

absl::Status Usable() { return absl::OkStatus(); }
absl::Status Unusable() { return absl::FailedPreconditionError("no GPU is visible"); }

std::vector<internal::BackendKind> Kinds() {
  return {{"fast", 2, &Unusable, nullptr}, {"steady", 1, &Usable, nullptr}};
}

class ChoiceTest : public ::testing::Test {
 protected:
  ~ChoiceTest() override { unsetenv("MUSTER_BACKEND"); }
};

TEST_F(ChoiceTest, ChoosesTheFirstUsableBackendAndSaysWhy) {
  const auto choice = internal::ChooseBackend(Kinds(), "");
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_EQ(choice->kind.name, "steady");
  EXPECT_EQ(choice->reason, "'fast' cannot be used here: no GPU is visible");
}

TEST_F(ChoiceTest, TheOptionComesBeforeTheEnvironment) {
  setenv("MUSTER_BACKEND", "fast", 1);
  const auto choice = internal::ChooseBackend(Kinds(), "steady");
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_EQ(choice->reason, "CommunicatorOptions::backend asks for it");
  const absl::Status refused = internal::ChooseBackend(Kinds(), "").status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused.message(),
            "MUSTER_BACKEND asks for the backend 'fast', which cannot be used here: no GPU is "
            "visible");
}

TEST_F(ChoiceTest, ListsTheLinkedBackends) {
  EXPECT_EQ(internal::ChooseBackend(Kinds(), "gloo").status(),
            absl::NotFoundError("CommunicatorOptions::backend asks for the backend 'gloo', which "
                                "this program does not link (linked: fast, steady); link "
                                "//client/gloo"));
  EXPECT_EQ(internal::ChooseBackend({}, "").status(),
            absl::NotFoundError("no communicator backend is linked; link //client:muster, or "
                                "//client/gloo or //client/nccl beside //client:core"));
}

// ---- Groups of one rank ----

TEST(SerialTest, EveryOperationWorks) {
  FakeJob job(1);
  auto comm = Communicator::Create(job.world(0));
  ASSERT_TRUE(comm.ok()) << comm.status();
  EXPECT_EQ((*comm)->backend(), "serial");
  const std::vector<double> in = {1, 2.5};
  const absl::Span<const double> data(in);
  std::vector<double> out(2);
  EXPECT_TRUE((*comm)->AllReduce(data, absl::MakeSpan(out), ReduceOp::kAverage).ok());
  EXPECT_EQ(out, in);
  EXPECT_TRUE((*comm)->AllReduce(absl::MakeSpan(out)).ok());
  EXPECT_TRUE((*comm)->Broadcast(absl::MakeSpan(out)).ok());
  EXPECT_TRUE((*comm)->AllGather(data, absl::MakeSpan(out)).ok());
  EXPECT_TRUE((*comm)->Reduce(data, absl::MakeSpan(out)).ok());
  EXPECT_TRUE((*comm)->ReduceScatter(data, absl::MakeSpan(out)).ok());
  EXPECT_TRUE((*comm)->AllToAll(in, out).ok());
  EXPECT_TRUE((*comm)->AllGather(in, {2}, out).ok());
  EXPECT_TRUE((*comm)->SendRecv(in, 0, out, 0).ok());
  EXPECT_TRUE((*comm)->Start([&](Communicator& c) { return c.AllReduce(out); }).Wait().ok());
  EXPECT_TRUE((*comm)->Barrier().ok());
  EXPECT_EQ(out, in);
  EXPECT_EQ((*comm)->Send(data, 0).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(job.completed_collectives(), 0);
}

TEST(SerialTest, ANamedBackendThatIsNotLinkedIsStillAnError) {
  FakeJob job(1);
  CommunicatorOptions options;
  options.backend = "gloo";
  const absl::Status status = Communicator::Create(job.world(0), options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("link //client/gloo"));
}

absl::StatusOr<std::unique_ptr<internal::Backend>> MakeOnDevice(const Group&,
                                                                const CommunicatorOptions&) {
  static Record* const record = new Record;
  return std::make_unique<RecordingBackend>(record);
}

TEST(DeviceMemoryTest, AGroupOfOneUsesABackendWhoseDataIsOnADevice) {
  static bool usable = true;
  internal::RegisterBackend(
      {"device", 1,
       [] { return usable ? absl::OkStatus() : absl::FailedPreconditionError("no GPU"); },
       &MakeOnDevice, /*device_memory=*/true});
  std::vector<std::string> lines;
  SetLogSink([&](LogLevel level, absl::string_view line) { lines.emplace_back(line); });
  FakeJob job(1);
  EXPECT_EQ((*Communicator::Create(job.world(0)))->backend(), "device");
  usable = false;
  EXPECT_EQ((*Communicator::Create(job.world(0)))->backend(), "serial");
  SetLogSink(nullptr);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[0], HasSubstr("backend device on GPU 5: the first choice of those linked"));
}

TEST(SerialTest, ALossElsewhereInTheJobEndsIt) {
  FakeJob job(2);
  auto comm = Communicator::Create(job.group(0, "alone", {0}));
  ASSERT_TRUE(comm.ok()) << comm.status();
  job.Lose(1);
  EXPECT_EQ((*comm)->Barrier(), FakeJob::LossOf(1));
}

TEST(SerialTest, TheChoiceIsLogged) {
  std::vector<std::string> lines;
  SetLogSink([&](LogLevel level, absl::string_view line) {
    if (level == LogLevel::kInfo) lines.emplace_back(line);
  });
  FakeJob job(1);
  EXPECT_TRUE(Communicator::Create(job.world(0)).ok());
  SetLogSink(nullptr);
  EXPECT_THAT(lines, ::testing::ElementsAre(
                         AllOf(HasSubstr("backend serial"), HasSubstr("the group has one rank"))));
}

}  // namespace
}  // namespace muster
