// Tests when the ranks of a communicator share memory, and what they do if they cannot. Each rank
// is a process with its own environment, limits and /dev/shm. The latter needs no right to mount.

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/src/node/shared_region.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "muster/communicator.h"
#include "muster/log.h"
#include "tests/util/fakes/fake_job.h"
#include "tests/util/fakes/star_control_plane.h"
#include "tests/util/process/dev_shm.h"

namespace muster {
namespace {

using ::muster::testing::FakeJob;
using ::muster::testing::FillDevShm;
using ::muster::testing::RedirectDevShm;
using ::muster::testing::Star;
using ::muster::testing::StarControlPlane;
using ::muster::testing::WorldOf;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kShares[] = "its collectives go through shared memory";
constexpr char kTwoLevels[] =
    "its collectives go through shared memory on each node, and through connections between ";
constexpr char kNoSharing[] = "its ranks do not share memory: ";

// The folder that all ranks see as /dev/shm unless a test shows them another. In the machine's own
// /dev/shm, other tests create files at the same time.
class PrivateShm : public ::testing::Environment {
 public:
  void SetUp() override {
    ASSERT_NE(mkdtemp(root_.data()), nullptr) << root_;
    Show("shared");
  }
  void TearDown() override {
    RedirectDevShm("/dev/shm");
    std::filesystem::remove_all(root_);
  }

  // Shows this process an empty folder of that name as its /dev/shm.
  static void Show(const std::string& name) {
    std::filesystem::create_directory(PathOf(name));
    RedirectDevShm(PathOf(name));
  }
  // Returns the path of a file that all ranks see in /dev/shm. If `name` is empty, returns the path
  // of the folder.
  static std::string Shared(const std::string& name) {
    return PathOf(absl::StrCat("shared/", name));
  }

 private:
  static std::string PathOf(const std::string& name) { return absl::StrCat(root_, "/", name); }
  static inline std::string root_ = "/dev/shm/muster-test-XXXXXX";
};

const ::testing::Environment* const private_shm =
    ::testing::AddGlobalTestEnvironment(new PrivateShm);

void ExpectNothingLeft() {
  for (const auto& entry : std::filesystem::directory_iterator(PrivateShm::Shared(""))) {
    ADD_FAILURE() << entry.path() << " is left";
  }
}

// Collects everything that the SDK logs while it lives.
class LogCapture {
 public:
  LogCapture() {
    SetLogSink([this](LogLevel, absl::string_view line) {
      std::lock_guard<std::mutex> lock(mutex_);
      absl::StrAppend(&text_, line, "\n");
    });
  }
  ~LogCapture() { SetLogSink(nullptr); }
  std::string text() {
    std::lock_guard<std::mutex> lock(mutex_);
    return text_;
  }

 private:
  std::mutex mutex_;
  std::string text_;
};

// Runs a rank, and returns what it has logged, or its error.
std::string RunRank(const std::vector<int>& nodes, int rank, const Star& star) {
  LogCapture log;
  auto comm = Communicator::Create(WorldOf(std::make_shared<StarControlPlane>(nodes, rank, &star)));
  if (!comm.ok()) return comm.status().ToString();
  const size_t sum_of_ranks = nodes.size() * (nodes.size() + 1) / 2;
  const auto sum = static_cast<float>(sum_of_ranks);
  for (const size_t count : {1, 1'000'000}) {
    std::vector<float> data(count, static_cast<float>(rank + 1));
    const absl::Status status = (*comm)->AllReduce(data);
    if (!status.ok()) return status.ToString();
    if (data != std::vector<float>(count, sum)) return "the sum is wrong";
  }
  return log.text();
}

// Runs each rank of these nodes in its own process, which calls `prepare` first.
class NodeProcesses {
 public:
  NodeProcesses(std::vector<int> nodes, const std::function<void(int rank)>& prepare)
      : nodes_(std::move(nodes)), output_(nodes_.size()), results_(nodes_.size()) {
    const int size = static_cast<int>(nodes_.size());
    {
      const Star star(size);
      for (int rank = 0; rank < size; ++rank) Start(rank, star, prepare);
    }
    for (int rank = 0; rank < size; ++rank) Read(rank);
  }

  const std::string& result(int rank) const { return results_[rank]; }

 private:
  void Start(int rank, const Star& star, const std::function<void(int)>& prepare) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    output_[rank] = ends[0];
    if (fork() == 0) {
      alarm(60);
      prepare(rank);
      const std::string text = RunRank(nodes_, rank, star);
      _exit(write(ends[1], text.data(), text.size()) < 0);
    }
    close(ends[1]);
  }

  void Read(int rank) {
    char buffer[4096];
    for (ssize_t size; (size = read(output_[rank], buffer, sizeof buffer)) > 0;) {
      results_[rank].append(buffer, size);
    }
    close(output_[rank]);
    int status = -1;
    wait(&status);
    EXPECT_EQ(status, 0);
  }

  const std::vector<int> nodes_;
  std::vector<int> output_;  // by rank
  std::vector<std::string> results_;
};

// Two ranks of one node.
class RankPair : public NodeProcesses {
 public:
  explicit RankPair(const std::function<void(int rank)>& prepare)
      : NodeProcesses({0, 0}, prepare) {}
};

void SetVariable(const char* value) { setenv("MUSTER_GLOO_SHARED_MEMORY", value, 1); }

TEST(SharedMemoryTest, IsUsedByRanksOfOneMachine) {
  const RankPair pair([](int) {});
  for (const int rank : {0, 1}) {
    EXPECT_THAT(pair.result(rank),
                HasSubstr(absl::StrCat("communicator of 2 on rank ", rank, ": ", kShares, "\n")));
  }
  ExpectNothingLeft();
}

TEST(SharedMemoryTest, IsNotUsedIfOneRankOptsOut) {
  const RankPair pair([](int rank) { SetVariable(rank == 0 ? "1" : "0"); });
  for (const int rank : {0, 1}) {
    EXPECT_THAT(pair.result(rank), HasSubstr(absl::StrCat(kNoSharing,
                                                          "rank 1 (node 'node-0', pid 1001) has "
                                                          "MUSTER_GLOO_SHARED_MEMORY=0")));
  }
}

TEST(SharedMemoryTest, TheVariableIsZeroOrOne) {
  const RankPair pair([](int rank) { SetVariable(rank == 0 ? "1" : "never"); });
  EXPECT_THAT(pair.result(0), AllOf(HasSubstr("FAILED_PRECONDITION"), HasSubstr("rank 1"),
                                    HasSubstr("MUSTER_GLOO_SHARED_MEMORY is 'never'")));
  EXPECT_THAT(pair.result(1), AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("expected 0 or 1")));
}

TEST(SharedMemoryTest, IsNotUsedIfDevShmIsNotShared) {
  const RankPair pair([](int rank) {
    if (rank == 1) PrivateShm::Show("of-rank-1");
  });
  EXPECT_THAT(pair.result(0), HasSubstr(absl::StrCat(
                                  kNoSharing, "rank 1 (node 'node-0', pid 1001) cannot open it")));
  EXPECT_THAT(pair.result(1),
              AllOf(HasSubstr(kNoSharing), HasSubstr("cannot open shared memory at "),
                    HasSubstr("No such file")));
  ExpectNothingLeft();
}

TEST(SharedMemoryTest, IsNotUsedIfDevShmIsFull) {
  const RankPair pair([](int rank) {
    if (rank == 0) FillDevShm();
  });
  EXPECT_THAT(pair.result(0),
              AllOf(HasSubstr(kNoSharing), HasSubstr("cannot reserve shared memory"),
                    HasSubstr("No space left")));
  EXPECT_THAT(pair.result(1), HasSubstr(absl::StrCat(
                                  kNoSharing, "rank 0 (node 'node-0', pid 1000) cannot make any")));
}

TEST(SharedMemoryTest, IsNotUsedWithoutDevShm) {
  const RankPair pair([](int rank) {
    if (rank == 0) RedirectDevShm("/no/such/folder");
  });
  EXPECT_THAT(pair.result(0), AllOf(HasSubstr(kNoSharing), HasSubstr("cannot make shared memory")));
  EXPECT_THAT(pair.result(1), HasSubstr(kNoSharing));
}

// Growing a file beyond the limit would kill the process with SIGXFSZ.
TEST(SharedMemoryTest, IsNotUsedBeyondTheLimitOfFileSizes) {
  const RankPair pair([](int) {
    const rlimit limit = {1 << 16, 1 << 16};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  });
  EXPECT_THAT(pair.result(0), AllOf(HasSubstr(kNoSharing), HasSubstr("ulimit -f")));
  EXPECT_THAT(pair.result(1), HasSubstr(kNoSharing));
}

TEST(SharedMemoryTest, IsRemovedWithItsMaker) {
  const std::string name = internal::SharedRegion::NewName();
  {
    auto made = internal::SharedRegion::Make(name, 1 << 20);
    ASSERT_TRUE(made.ok()) << made.status();
    auto opened = internal::SharedRegion::Open(name, 1 << 20);
    ASSERT_TRUE(opened.ok()) << opened.status();
    static_cast<char*>((*made)->data())[5] = 'x';
    EXPECT_EQ(static_cast<char*>((*opened)->data())[5], 'x');
    EXPECT_TRUE(absl::IsAlreadyExists(internal::SharedRegion::Make(name, 1 << 20).status()));
    EXPECT_TRUE(absl::IsFailedPrecondition(internal::SharedRegion::Open(name, 1 << 21).status()));
  }
  EXPECT_TRUE(absl::IsNotFound(internal::SharedRegion::Open(name, 1 << 20).status()));
}

TEST(SharedMemoryTest, FilesOfKilledRanksAreRemoved) {
  const std::string abandoned = internal::SharedRegion::NewName();
  const std::string others = PrivateShm::Shared("muster-data-of-somebody-else");
  const pid_t maker = fork();
  if (maker == 0) {
    auto made = internal::SharedRegion::Make(abandoned, 1 << 20);
    if (made.ok()) raise(SIGKILL);
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(maker, &status, 0), maker);
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  std::ofstream(others) << "x";

  const std::string name = internal::SharedRegion::NewName();
  auto in_use = internal::SharedRegion::Make(name, 1 << 20);
  ASSERT_TRUE(in_use.ok()) << in_use.status();
  EXPECT_FALSE(std::filesystem::exists(PrivateShm::Shared(abandoned)));
  auto another = internal::SharedRegion::Make(internal::SharedRegion::NewName(), 1 << 20);
  ASSERT_TRUE(another.ok()) << another.status();
  EXPECT_TRUE(std::filesystem::exists(PrivateShm::Shared(name)));
  EXPECT_TRUE(std::filesystem::remove(others));
}

// ---- Several nodes ----

TEST(TwoLevelsTest, AreUsedBetweenNodesWhoseRanksShareMemory) {
  const NodeProcesses ranks({0, 1, 0, 1}, [](int) {});
  for (const int rank : {0, 1, 2, 3}) {
    EXPECT_THAT(ranks.result(rank), HasSubstr(absl::StrCat("communicator of 4 on rank ", rank, ": ",
                                                           kTwoLevels, "2 of them\n")));
  }
  ExpectNothingLeft();
}

TEST(TwoLevelsTest, ARankThatIsAloneTakesPart) {
  const NodeProcesses ranks({0, 1, 1}, [](int) {});
  EXPECT_THAT(ranks.result(0),
              HasSubstr(absl::StrCat(kTwoLevels,
                                     "2 of them; this rank shares none: it is alone "
                                     "on its node\n")));
  EXPECT_THAT(ranks.result(2), HasSubstr(absl::StrCat(kTwoLevels, "2 of them\n")));
}

TEST(TwoLevelsTest, AreNotUsedIfEveryRankIsAloneOnItsNode) {
  const NodeProcesses ranks({0, 1}, [](int) {});
  EXPECT_THAT(ranks.result(1), HasSubstr(absl::StrCat(kNoSharing, "no two are on one node")));
}

TEST(TwoLevelsTest, OneRankDisablesBothLevels) {
  const NodeProcesses ranks({0, 0, 1, 1}, [](int rank) { SetVariable(rank == 3 ? "0" : "1"); });
  for (const int rank : {0, 1, 2, 3}) {
    EXPECT_THAT(ranks.result(rank), HasSubstr(absl::StrCat(kNoSharing,
                                                           "rank 3 (node 'node-1', pid 1003) has "
                                                           "MUSTER_GLOO_SHARED_MEMORY=0")));
  }
}

// The ranks of that node use no shared memory. All ranks agree about that, and the other node still
// uses its own.
TEST(TwoLevelsTest, ANodeWithoutRoomFallsBackAlone) {
  const NodeProcesses ranks({0, 0, 1, 1}, [](int rank) {
    if (rank == 2) FillDevShm();
  });
  EXPECT_THAT(ranks.result(0), HasSubstr(absl::StrCat(kTwoLevels, "3 of them\n")));
  EXPECT_THAT(ranks.result(2), AllOf(HasSubstr(absl::StrCat(kTwoLevels, "3 of them; this rank")),
                                     HasSubstr("No space left")));
  EXPECT_THAT(ranks.result(3), HasSubstr("rank 2 (node 'node-1', pid 1002) cannot make any"));
}

TEST(TwoLevelsTest, ANodeWhoseRanksDoNotSeeOneDevShmFallsBackAlone) {
  const NodeProcesses ranks({0, 1, 0, 1}, [](int rank) {
    if (rank == 2) PrivateShm::Show("of-rank-2");
  });
  EXPECT_THAT(ranks.result(0), HasSubstr("rank 2 (node 'node-0', pid 1002) cannot open it"));
  EXPECT_THAT(ranks.result(2), HasSubstr("cannot open shared memory at "));
  EXPECT_THAT(ranks.result(1), HasSubstr(absl::StrCat(kTwoLevels, "3 of them\n")));
  ExpectNothingLeft();
}

// Mixes operations that use shared memory with others that do not, in one order.
void CheckMixing(const std::vector<int>& nodes, const char* how) {
  FakeJob job(FakeJob::OnNodes(nodes));
  LogCapture log;
  job.Run([](int rank, const Group& world) {
    auto comm = Communicator::Create(world);
    ASSERT_TRUE(comm.ok()) << comm.status();
    for (int32_t round = 0; round < 50; ++round) {
      std::vector<int32_t> sum = {rank + round}, all = {0, 10, 20, 30}, mine(4), got(1);
      EXPECT_TRUE((*comm)->AllReduce(sum).ok());
      EXPECT_EQ(sum[0], 6 + 4 * round);
      EXPECT_TRUE((*comm)->AllToAll(all, mine).ok());
      EXPECT_EQ(mine, std::vector<int32_t>(4, 10 * rank));
      EXPECT_TRUE((*comm)->Barrier().ok());
      EXPECT_TRUE((*comm)->SendRecv(sum, (rank + 1) % 4, got, (rank + 3) % 4).ok());
      EXPECT_EQ(got, sum);
    }
  });
  EXPECT_THAT(log.text(), AllOf(HasSubstr(how), Not(HasSubstr(kNoSharing))));
}

TEST(SharedMemoryTest, MixesWithOperationsOverConnections) {
  CheckMixing({0, 0, 0, 0}, kShares);
  CheckMixing({0, 1, 1, 0}, kTwoLevels);
}

// Uses communicators of all ranks, of a node, and across nodes, in turns.
TEST(TwoLevelsTest, SeveralCommunicatorsDoNotDisturbEachOther) {
  FakeJob job(FakeJob::OnNodes({0, 0, 1, 1}));
  job.Run([&](int rank, const Group& world) {
    const int node = rank / 2, across = rank % 2;
    auto all = Communicator::Create(world);
    auto on_node =
        Communicator::Create(job.group(rank, absl::StrCat("node", node), {2 * node, 2 * node + 1}));
    auto backwards = Communicator::Create(job.group(rank, "backwards", {3, 2, 1, 0}));
    auto between =
        Communicator::Create(job.group(rank, absl::StrCat("across", across), {across, across + 2}));
    ASSERT_TRUE(all.ok() && on_node.ok() && backwards.ok() && between.ok());
    for (const size_t count : {1, 100, 50'000}) {
      std::vector<int32_t> a(count, rank), b(count, rank), c(count, rank), d(count, rank);
      const PendingOperation pending =
          (*all)->Start([&a](Communicator& comm) { return comm.AllReduce(a); });
      EXPECT_TRUE((*on_node)->AllReduce(b).ok());
      EXPECT_TRUE((*backwards)->Broadcast(c, 0).ok());
      EXPECT_TRUE((*between)->AllReduce(d).ok());
      EXPECT_TRUE(pending.Wait().ok());
      EXPECT_EQ(a, std::vector<int32_t>(count, 6));
      EXPECT_EQ(b, std::vector<int32_t>(count, 4 * node + 1));
      EXPECT_EQ(c, std::vector<int32_t>(count, 3));
      EXPECT_EQ(d, std::vector<int32_t>(count, 2 * across + 2));
    }
  });
}

}  // namespace
}  // namespace muster
