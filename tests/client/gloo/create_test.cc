// Tests of creating communicators: the choice of backend and address, ranks that disagree or fail,
// and what is left afterwards.

#include <arpa/inet.h>
#include <dirent.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/gloo/connections/gloo_peer_info.h"
#include "client/gloo/connections/mesh.h"
#include "client/src/data_plane/backend.h"
#include "client/src/data_plane/rendezvous.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "muster/communicator.h"
#include "tests/util/fakes/fake_job.h"
#include "tests/util/process/wait_until.h"

namespace muster {
namespace {

using ::muster::testing::FakeJob;
using ::muster::testing::FakeJobOptions;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

// Creates a communicator on all ranks, and returns the status of each.
std::vector<absl::Status> CreateAll(FakeJob& job,
                                    const std::function<CommunicatorOptions(int rank)>& options) {
  std::vector<absl::Status> results(job.size());
  job.Run([&](int rank, const Group& world) {
    auto comm = Communicator::Create(world, options(rank));
    results[rank] = comm.status();
    if (!comm.ok()) return;
    std::vector<int32_t> sum = {rank};
    results[rank] = (*comm)->AllReduce(absl::MakeSpan(sum));
    EXPECT_EQ(sum[0], job.size() * (job.size() - 1) / 2);
  });
  return results;
}

CommunicatorOptions OptionsAt(const std::string& interface) {
  CommunicatorOptions options;
  options.interface = interface;
  return options;
}

TEST(CreateTest, TakesOneCollectiveOfTheGroupAndOneOfItsOwn) {
  FakeJob job(4);
  for (const absl::Status& status : CreateAll(job, [](int) { return CommunicatorOptions(); })) {
    EXPECT_TRUE(status.ok()) << status;
  }
  EXPECT_EQ(job.completed_collectives(), 2);
}

TEST(CreateTest, AtAnInterfaceOrAddress) {
  for (const char* interface : {"lo", "127.0.0.1", "::1"}) {
    FakeJob job(3);
    for (const absl::Status& status : CreateAll(job, [&](int) { return OptionsAt(interface); })) {
      EXPECT_TRUE(status.ok()) << interface << ": " << status;
    }
  }
}

TEST(CreateTest, AtAnIPv4AddressThatADualSocketReports) {
  FakeJobOptions options{2};
  options.local_address = "::ffff:127.0.0.1";
  FakeJob job(options);
  for (const absl::Status& status : CreateAll(job, [](int) { return CommunicatorOptions(); })) {
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST(CreateTest, AtTheInterfaceThatTheEnvironmentNames) {
  setenv("MUSTER_INTERFACE", "nothing0", 1);
  FakeJob job(2);
  const auto refused = CreateAll(job, [](int) { return CommunicatorOptions(); });
  EXPECT_THAT(Message(refused[0]), HasSubstr("MUSTER_INTERFACE is 'nothing0'"));
  for (const absl::Status& status : CreateAll(job, [](int) { return OptionsAt("lo"); })) {
    EXPECT_TRUE(status.ok()) << status;
  }
  unsetenv("MUSTER_INTERFACE");
}

TEST(CreateTest, AnUnknownInterfaceIsAnErrorOnEveryRank) {
  FakeJob job(3);
  const auto results = CreateAll(
      job, [](int rank) { return rank == 1 ? OptionsAt("nothing0") : CommunicatorOptions(); });
  EXPECT_EQ(results[1].code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(results[1]), AllOf(HasSubstr("CommunicatorOptions::interface is 'nothing0'"),
                                         HasSubstr("lo 127.0.0.1")));
  for (int rank : {0, 2}) {
    EXPECT_EQ(results[rank].code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(Message(results[rank]),
                AllOf(HasSubstr("rank 1 (node 'node-1', pid 1001) cannot take part"),
                      HasSubstr("nothing0")));
  }
}

TEST(CreateTest, AddressesOfTwoKindsAreNamed) {
  FakeJob job(2);
  for (const absl::Status& status :
       CreateAll(job, [](int rank) { return OptionsAt(rank == 0 ? "127.0.0.1" : "::1"); })) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(Message(status),
                AllOf(HasSubstr("rank 0 (node 'node-0', pid 1000)"), HasSubstr("offers 127.0.0.1"),
                      HasSubstr("offers ::1"), HasSubstr("MUSTER_INTERFACE")));
  }
}

TEST(CreateTest, ABackendThatOneRankDoesNotLink) {
  FakeJob job(2);
  const auto results = CreateAll(job, [](int rank) {
    CommunicatorOptions options;
    options.backend = rank == 0 ? "warp" : "gloo";
    return options;
  });
  EXPECT_EQ(results[0].code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(results[0]), AllOf(HasSubstr("'warp'"), HasSubstr("gloo")));
  EXPECT_EQ(results[1].code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(results[1]), AllOf(HasSubstr("rank 0"), HasSubstr("'warp'")));
}

internal::GlooPeerInfo LoopbackInfo(const std::string& host) {
  internal::GlooPeerInfo info;
  info.set_host(host);
  info.set_address("127.0.0.1");
  info.set_interface("lo");
  info.set_loopback(true);
  info.add_endpoints();
  info.add_endpoints();
  return info;
}

absl::StatusOr<std::unique_ptr<internal::Backend>> CreateOther(const Group& group,
                                                               const CommunicatorOptions& options) {
  const absl::StatusOr<internal::GlooPeerInfo> own = LoopbackInfo("alpha/1");
  const auto infos = internal::ExchangePeerInfos(group, "other", own, CallOptions{options.timeout});
  if (!infos.ok()) return infos.status();
  return absl::InternalError("not reached");
}

const bool other_registered =
    internal::RegisterBackend({"other", -1, [] { return absl::OkStatus(); }, &CreateOther});

TEST(CreateTest, BackendsThatDifferAreNamedWithTheirRanks) {
  ASSERT_TRUE(other_registered);
  FakeJob job(4);
  for (const absl::Status& status : CreateAll(job, [](int rank) {
         CommunicatorOptions options;
         options.backend = rank == 2 ? "other" : "gloo";
         return options;
       })) {
    EXPECT_EQ(status, absl::FailedPreconditionError(
                          "the ranks of the communicator have different backends: ranks 0-1,3 "
                          "'gloo', rank 2 'other'; name one that all of them link, in "
                          "CommunicatorOptions::backend or MUSTER_BACKEND"));
  }
}

// ---- Ranks that never connect ----

// Takes part in the exchange as `world`'s rank, but never connects. It announces endpoints with the
// highest port, and of two endpoints the one with the higher port connects to the other.
void ExchangeOnly(const Group& world) {
  const auto addresses = internal::LocalNetworkAddresses();
  ASSERT_TRUE(addresses.ok());
  const auto address = internal::ChooseNetworkAddress(*addresses, "127.0.0.1", "");
  ASSERT_TRUE(address.ok());
  internal::Interrupter interrupter;
  const auto mesh = internal::Mesh::Listen(world, *address, &interrupter);
  ASSERT_TRUE(mesh.ok()) << mesh.status();
  internal::GlooPeerInfo own = (*mesh)->peer_info();
  for (std::string& endpoint : *own.mutable_endpoints()) {
    if (endpoint.empty()) continue;
    reinterpret_cast<sockaddr_in*>(endpoint.data())->sin_port = htons(65535);
  }
  const auto infos = internal::ExchangePeerInfos(
      world, "gloo", absl::StatusOr<internal::GlooPeerInfo>(own), CallOptions{absl::Seconds(60)});
  EXPECT_TRUE(infos.ok()) << infos.status();
}

TEST(CreateTest, ARankThatDoesNotConnectIsNamedAtTheTimeout) {
  FakeJob job(3);
  job.Run([&](int rank, const Group& world) {
    if (rank == 1) return ExchangeOnly(world);
    CommunicatorOptions options;
    options.timeout = absl::Seconds(5);
    const absl::Status status = Communicator::Create(world, options).status();
    if (rank != 0) return;
    EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
    EXPECT_THAT(Message(status), HasSubstr("rank 1 (node 'node-1', pid 1001)"));
  });
}

TEST(CreateTest, ALossEndsConnecting) {
  FakeJob job(2);
  job.Run([&](int rank, const Group& world) {
    if (rank == 0) {
      EXPECT_EQ(Communicator::Create(world).status(), FakeJob::LossOf(1));
      return;
    }
    ExchangeOnly(world);
    job.Lose(1);
  });
}

TEST(CreateTest, ACancellationEndsConnecting) {
  FakeJob job(2);
  Cancellation cancellation;
  job.Run([&](int rank, const Group& world) {
    if (rank == 0) {
      CommunicatorOptions options;
      options.cancellation = &cancellation;
      EXPECT_EQ(Communicator::Create(world, options).status().code(), absl::StatusCode::kCancelled);
      return;
    }
    ExchangeOnly(world);
    cancellation.Cancel();
  });
}

// ---- The data that ranks exchange ----

TEST(PeerInfoTest, LoopbackIsRightOnOneHostOnly) {
  FakeJob job(2);
  std::vector<internal::GlooPeerInfo> infos(2, LoopbackInfo("alpha/1"));
  EXPECT_TRUE(internal::CheckGlooPeerInfos(job.world(0), infos).ok());
  infos[1] = LoopbackInfo("beta/2");
  const absl::Status status = internal::CheckGlooPeerInfos(job.world(0), infos);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status),
              AllOf(HasSubstr("rank 0 (node 'node-0', pid 1000) on host alpha/1 offers 127.0.0.1"),
                    HasSubstr("rank 1 (node 'node-1', pid 1001) is on host beta/2"),
                    HasSubstr("MUSTER_INTERFACE")));
}

// ---- Leaks ----

int CountEntries(const char* directory) {
  DIR* const open = opendir(directory);
  int count = 0;
  while (readdir(open) != nullptr) ++count;
  closedir(open);
  return count;
}

TEST(CreateTest, LeavesNoThreadsOrSocketsBehind) {
  FakeJob job(3);
  const auto once = [&] {
    for (const absl::Status& status : CreateAll(job, [](int) { return CommunicatorOptions(); })) {
      ASSERT_TRUE(status.ok()) << status;
    }
  };
  once();  // libraries now hold what they never free
  const int descriptors = CountEntries("/proc/self/fd");
  const int threads = CountEntries("/proc/self/task");
  for (int round = 0; round < 50; ++round) once();
  EXPECT_LE(CountEntries("/proc/self/fd"), descriptors);
  // The kernel may list a thread for a moment after it was joined, so both counts may be too high
  // by one or two. A leak in each of fifty rounds is more than that.
  EXPECT_TRUE(testing::WaitUntil([&] { return CountEntries("/proc/self/task") <= threads; }));
}

}  // namespace
}  // namespace muster
