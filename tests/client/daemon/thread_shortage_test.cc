// Tests of a process that gets no more threads, at each place where the SDK needs one. The call
// must report it, leave nothing behind, and succeed once threads are available again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/barrier.h"
#include "muster/communicator.h"
#include "muster/job.h"
#include "tests/client/daemon/jobs.h"
#include "tests/util/process/thread_limit.h"
#include "tests/util/process/wait_until.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kRanks = 2;
// The threads that Live() has at once: two talk to the coordinator, one writes the log, two serve
// the communicator, and one runs the started operation.
constexpr int kThreadsPerRank = 6;

int Threads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<int>(std::distance(begin(tasks), end(tasks)));
}

// Returns the number of open descriptors without epoll's: Gloo leaks its own if it gets no thread.
int Descriptors() {
  int count = 0;
  for (const auto& descriptor : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(descriptor, gone).string();
    if (!gone && target != "anon_inode:[eventpoll]") ++count;
  }
  return count;
}

absl::Status StatusOf(const absl::Status& status) { return status; }
template <class T>
absl::Status StatusOf(const absl::StatusOr<T>& value) {
  return value.status();
}

// Makes the call. If it gets no thread, lifts the limit and makes the call again.
template <class Call>
auto Insist(ThreadLimit* limit, Call call) {
  auto result = call();
  if (result.ok()) return result;
  EXPECT_THAT(StatusOf(result).ToString(),
              AllOf(HasSubstr("gives this process no thread to"), HasSubstr("ulimit -u")));
  limit->Lift();
  result = call();
  EXPECT_TRUE(result.ok()) << StatusOf(result);
  return result;
}

// Uses everything in the SDK that has threads, as a program does.
void Live(int rank, const std::string& coordinator, ThreadLimit* limit) {
  JobOptions options = OptionsFor(coordinator);
  options.world_size = kRanks;
  options.rank = rank;
  const auto job = Insist(limit, [&] { return Job::Join(options); });
  ASSERT_TRUE(job.ok());
  auto communicator = Insist(limit, [&] { return Communicator::Create(**job); });
  ASSERT_TRUE(communicator.ok());
  std::vector<int> ones = {1};
  const auto reduce = [&](Communicator& all) { return all.AllReduce(absl::MakeSpan(ones)); };
  EXPECT_TRUE(Insist(limit, [&] { return (*communicator)->Start(reduce).Wait(); }).ok());
  EXPECT_EQ(ones[0], kRanks);
  communicator->reset();
  EXPECT_TRUE((*job)->Leave().ok());
}

// Runs all ranks in a process that may have `threads` more threads. Returns whether it needed more.
bool AllLive(int threads) {
  const auto daemon = TestDaemon::Start();
  const std::string coordinator = absl::StrCat("localhost:", daemon->port());  // to be resolved
  std::unique_ptr<ThreadLimit> limit;
  absl::Barrier started(kRanks + 1), limited(kRanks + 1);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    ranks.emplace_back([&, rank] {
      started.Block();
      limited.Block();
      Live(rank, coordinator, limit.get());
    });
  }
  started.Block();
  limit = std::make_unique<ThreadLimit>(threads);
  limited.Block();
  for (std::thread& rank : ranks) rank.join();
  return limit->reached();
}

TEST(ThreadShortageTest, IsReportedByEveryCallAndPasses) {
  constexpr int kPlenty = 1000;
  ASSERT_FALSE(AllLive(kPlenty));  // now libraries have the threads that they keep
  const int descriptors = Descriptors();
  const int threads = Threads();
  int enough = 0;
  while (AllLive(enough)) ASSERT_LT(++enough, kPlenty);
  EXPECT_GE(enough, kRanks * kThreadsPerRank);
  // gRPC closes its connections on its own thread.
  EXPECT_TRUE(WaitUntil([&] { return Descriptors() <= descriptors && Threads() <= threads; }));
}

TEST(ThreadShortageTest, AListenerMayDestroyTheJobAllTheSame) {
  Jobs jobs(2);
  std::atomic<pid_t> listener{0};
  const Subscription subscription = jobs[0].OnFailure([&](const absl::Status&) {
    jobs.Destroy(0);
    listener = gettid();
  });
  const ThreadLimit none(0);
  jobs.Destroy(1);
  // The listener's thread is the job's last one.
  EXPECT_TRUE(WaitUntil([&] {
    return listener != 0 &&
           !std::filesystem::exists(absl::StrCat("/proc/self/task/", listener.load()));
  }));
  EXPECT_FALSE(none.reached());
}

}  // namespace
}  // namespace muster::testing
