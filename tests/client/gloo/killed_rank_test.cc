// Tests that kill or stop ranks at any moment of any collective. Every rank is a process.

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <functional>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "muster/communicator.h"
#include "tests/client/gloo/communicators.h"
#include "tests/util/fakes/star_control_plane.h"

namespace muster {
namespace {

using ::muster::testing::Layout;
using ::muster::testing::NameOfLayoutParam;
using ::muster::testing::Star;
using ::muster::testing::StarControlPlane;
using ::muster::testing::WorldOf;

// The state that the processes share.
struct Control {
  bool stops = false;  // ranks are stopped instead of killed
  std::atomic<int> operations{0};
  std::atomic<int> victim{-1};
  std::atomic<int> ended{0};  // number of ranks that have ended
};

// The exit codes of ranks.
enum Outcome { kAsExpected = 0, kWrongData = 3, kWrongError = 4, kNotCreated = 5 };

// Each collective, in sizes below and above what nodes exchange at once. Each rank contributes its
// rank + 1. They return whether the result is right.
bool AllReduceIsRight(Communicator& comm, size_t count, const CallOptions& options,
                      absl::Status* status) {
  std::vector<int32_t> data(count, comm.rank() + 1);
  *status = comm.AllReduce(absl::MakeSpan(data), ReduceOp::kSum, options);
  const int32_t sum = comm.size() * (comm.size() + 1) / 2;
  return data == std::vector<int32_t>(count, sum);
}
bool ReduceIsRight(Communicator& comm, size_t count, const CallOptions& options,
                   absl::Status* status) {
  const std::vector<int32_t> in(count, comm.rank() + 1);
  const int root = static_cast<int>(count) % comm.size();
  std::vector<int32_t> out(count);
  *status =
      comm.Reduce(absl::MakeConstSpan(in), absl::MakeSpan(out), ReduceOp::kMax, root, options);
  return comm.rank() != root || out == std::vector<int32_t>(count, comm.size());
}
bool BroadcastIsRight(Communicator& comm, size_t count, const CallOptions& options,
                      absl::Status* status) {
  const int root = static_cast<int>(count) % comm.size();
  std::vector<int32_t> data(count, comm.rank() + 1);
  *status = comm.Broadcast(absl::MakeSpan(data), root, options);
  return data == std::vector<int32_t>(count, root + 1);
}
bool AllGatherIsRight(Communicator& comm, size_t count, const CallOptions& options,
                      absl::Status* status) {
  const std::vector<int32_t> in(count, comm.rank() + 1);
  std::vector<int32_t> out(count * comm.size());
  *status = comm.AllGather(absl::MakeConstSpan(in), absl::MakeSpan(out), options);
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] != static_cast<int32_t>(i / count) + 1) return false;
  }
  return true;
}
bool ReduceScatterIsRight(Communicator& comm, size_t count, const CallOptions& options,
                          absl::Status* status) {
  const std::vector<int32_t> in(count * comm.size(), comm.rank() + 1);
  std::vector<int32_t> out(count);
  *status =
      comm.ReduceScatter(absl::MakeConstSpan(in), absl::MakeSpan(out), ReduceOp::kMin, options);
  return out == std::vector<int32_t>(count, 1);
}
bool BarrierIsRight(Communicator& comm, size_t, const CallOptions& options, absl::Status* status) {
  *status = comm.Barrier(options);
  return true;
}

using Check = bool (*)(Communicator&, size_t count, const CallOptions&, absl::Status*);
constexpr Check kChecks[] = {&AllReduceIsRight, &ReduceIsRight,        &BroadcastIsRight,
                             &AllGatherIsRight, &ReduceScatterIsRight, &BarrierIsRight};

class KilledRankTest : public ::testing::TestWithParam<Layout> {
 protected:
  KilledRankTest()
      : control_(new (mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Control()) {}
  ~KilledRankTest() override { munmap(control_, sizeof(Control)); }

  static int ranks() { return static_cast<int>(GetParam().size()); }

  void Start(bool stops) {
    new (control_) Control();
    control_->stops = stops;
    const Star star(ranks());
    processes_.clear();
    for (int rank = 0; rank < ranks(); ++rank) {
      const pid_t child = fork();
      if (child == 0) {
        const int outcome = Run(rank, star);
        ++control_->ended;
        _exit(outcome);
      }
      processes_.push_back(child);
    }
  }

  // Runs collectives until an error, which must blame the victim.
  int Run(int rank, const Star& star) {
    alarm(100);  // ends a rank that hangs
    auto comm =
        Communicator::Create(WorldOf(std::make_shared<StarControlPlane>(GetParam(), rank, &star)));
    if (!comm.ok()) return control_->victim >= 0 ? kAsExpected : kNotCreated;
    CallOptions options;
    options.timeout = absl::Seconds(control_->stops ? 5 : 60);
    for (size_t number = 0;; ++number) {
      const size_t count = number % 4 == 0 ? 60'000 : 1 + number % 900;
      absl::Status status;
      const bool right = kChecks[number % std::size(kChecks)](**comm, count, options, &status);
      if (!status.ok()) return IsExpected(status) ? kAsExpected : kWrongError;
      if (!right) return kWrongData;
      if (rank == 0) ++control_->operations;
    }
  }

  // A killed rank is named. For a stopped rank, the error is some rank's time-out.
  bool IsExpected(const absl::Status& status) {
    const bool expected =
        control_->stops
            ? absl::StrContains(status.message(), "did not end within")
            : absl::StrContains(status.message(),
                                absl::StrCat("rank ", control_->victim.load(), " (node"));
    if (!expected) fprintf(stderr, "%s\n", status.ToString().c_str());
    return expected;
  }

  // Returns when rank 0 has done some operations, at a random moment of the next.
  void AwaitOperations(std::mt19937* random) {
    const int until = 1 + static_cast<int>((*random)() % 30);
    while (control_->operations < until && control_->ended == 0) std::this_thread::yield();
    for (unsigned i = (*random)() % 300'000; i > 0; --i) asm volatile("");
  }

  int ExitOf(int rank) const {
    int status = -1;
    waitpid(processes_[rank], &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  Control* const control_;
  std::vector<pid_t> processes_;
};

TEST_P(KilledRankTest, IsNamedOnAllOtherRanksInEveryPhase) {
  std::mt19937 random(31);
  for (int round = 0; round < 8; ++round) {
    Start(/*stops=*/false);
    AwaitOperations(&random);
    const int killed = round % ranks();
    control_->victim = killed;
    kill(processes_[killed], SIGKILL);
    for (int rank = 0; rank < ranks(); ++rank) {
      EXPECT_EQ(ExitOf(rank), rank == killed ? -SIGKILL : kAsExpected)
          << round << ", rank " << rank;
    }
  }
}

TEST_P(KilledRankTest, AStoppedRankEndsTheOthersAtTheirTimeOut) {
  std::mt19937 random(37);
  Start(/*stops=*/true);
  AwaitOperations(&random);
  const int stopped = 1;
  control_->victim = stopped;
  kill(processes_[stopped], SIGSTOP);
  for (int rank = 0; rank < ranks(); ++rank) {
    if (rank == stopped) continue;
    EXPECT_EQ(ExitOf(rank), kAsExpected) << rank;
  }
  kill(processes_[stopped], SIGCONT);
  EXPECT_EQ(ExitOf(stopped), kAsExpected) << "it hears of that later";
}

const Layout kLayouts[] = {{0, 0, 0}, {0, 1, 0}, {0, 0, 1, 1}, {0, 1, 1, 1, 0}};

INSTANTIATE_TEST_SUITE_P(All, KilledRankTest, ::testing::ValuesIn(kLayouts), NameOfLayoutParam);

}  // namespace
}  // namespace muster
