// Tests of the word by which the ranks of a node tell each other that they stop NCCL.

#include "client/nccl/communicator/stop_board.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/nccl/communicator/handle.h"
#include "client/nccl/communicator/stopper.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/fakes/fake_job.h"

namespace muster::internal {
namespace {

using ::muster::testing::FakeJob;
using ::testing::HasSubstr;

std::string NewName(absl::string_view test) {
  return StopBoard::NameOf(absl::StrCat(test, " ", SharedRegion::NewName()));
}

bool Exists(const std::string& name) {
  return access(absl::StrCat("/dev/shm/", name).c_str(), F_OK) == 0;
}

std::unique_ptr<StopBoard> OpenBoard(const std::string& name) {
  auto board = StopBoard::Open(name);
  EXPECT_TRUE(board.ok()) << board.status();
  return board.ok() ? *std::move(board) : nullptr;
}

TEST(StopBoard, ReportsTheFirstRankToStop) {
  const std::string name = NewName("first");
  const auto one = OpenBoard(name);
  const auto other = OpenBoard(name);
  EXPECT_FALSE(other->First());
  one->Announce(0, absl::StatusCode::kDeadlineExceeded);
  other->Announce(1, absl::StatusCode::kAborted);
  for (const StopBoard* board : {one.get(), other.get()}) {
    ASSERT_TRUE(board->First());
    EXPECT_EQ(board->First()->rank, 0);
    EXPECT_EQ(board->First()->why, absl::StatusCode::kDeadlineExceeded);
  }
}

TEST(StopBoard, ConcurrentOpensShareOneBoard) {
  const std::string name = NewName("threads");
  constexpr int kRanks = 8;
  std::vector<std::unique_ptr<StopBoard>> boards(kRanks);
  std::vector<std::thread> threads;
  for (auto& board : boards) {
    threads.emplace_back([&board, &name] { board = OpenBoard(name); });
  }
  for (std::thread& thread : threads) thread.join();
  boards.front()->Announce(3, absl::StatusCode::kCancelled);
  for (const auto& board : boards) EXPECT_EQ(board->First()->rank, 3);
}

// A rank that sees the announcement also sees all stores before it. A rank that sees a store after
// the announcement also sees the announcement.
TEST(StopBoard, AnnouncementIsVisibleBeforeLaterStores) {
  const std::string name = NewName("order");
  const auto one = OpenBoard(name);
  const auto other = OpenBoard(name);
  std::atomic<bool> flag{false};
  std::thread stopper([&] {
    one->Announce(0, absl::StatusCode::kAborted);
    flag.store(true, std::memory_order_release);
  });
  while (!flag.load(std::memory_order_acquire)) std::this_thread::yield();
  EXPECT_TRUE(other->First());
  stopper.join();
}

TEST(StopBoard, UnlinkRemovesTheNameAndKeepsTheMemory) {
  const std::string name = NewName("name");
  const auto one = OpenBoard(name);
  const auto other = OpenBoard(name);
  EXPECT_TRUE(Exists(name));
  one->Unlink();
  other->Unlink();
  EXPECT_FALSE(Exists(name));
  one->Announce(0, absl::StatusCode::kAborted);
  EXPECT_TRUE(other->First());
}

TEST(StopBoard, ABoardOfKilledProcessesIsRemoved) {
  const std::string name = NewName("abandoned");
  const pid_t child = fork();
  if (child == 0) {
    const auto board = StopBoard::Open(name);
    _exit(board.ok() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  ASSERT_TRUE(Exists(name));
  OpenBoard(NewName("next"));
  EXPECT_FALSE(Exists(name));
}

TEST(StopBoard, AHandleAnnouncesItsStopAndNamesAPeerThatStopped) {
  ASSERT_TRUE(Stopper::Get().Start().ok());
  FakeJob job(2);
  const Device device{0, "fake", "GPU-0"};
  const std::string name = NewName("handles");
  std::vector<std::shared_ptr<NcclHandle>> handles;
  for (int rank : {0, 1}) {
    handles.push_back(NcclHandle::Open(job.world(rank), device, absl::Minutes(1),
                                       NCCL_CONFIG_UNDEF_INT, OpenBoard(name)));
  }
  EXPECT_TRUE(handles[1]->Poll("an operation").ok());
  const absl::Status given_up = handles[0]->End(absl::DeadlineExceededError("too late"));
  EXPECT_TRUE(absl::IsDeadlineExceeded(handles[0]->Poll("an operation")));
  const absl::Status peer_error = handles[1]->Poll("an operation");
  EXPECT_TRUE(absl::IsDeadlineExceeded(peer_error)) << peer_error;
  EXPECT_THAT(peer_error.ToString(), HasSubstr("rank 0 ("));
  EXPECT_THAT(peer_error.ToString(), HasSubstr("DEADLINE_EXCEEDED there"));
  EXPECT_EQ(handles[1]->End(peer_error), peer_error);
  for (const auto& handle : handles) {
    handle->Discard(given_up, SteadyClock::now() + std::chrono::minutes(1));
  }
}

}  // namespace
}  // namespace muster::internal
