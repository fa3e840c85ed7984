// Tests of processes that meet in a real segment and are killed at any instruction.

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "client/src/node/fan_in_round.h"
#include "client/src/node/futex.h"
#include "client/src/node/segment.h"
#include "gtest/gtest.h"
#include "tests/util/process/wait_until.h"

namespace muster::internal {
namespace {

constexpr uint32_t kMembers = 6;

// A stand-in for the daemon: which living members have arrived at the current number.
struct Counter {
  std::atomic<uint64_t> state{0};  // the number, and a bit for each member that has arrived
  std::atomic<uint64_t> alive{(1u << kMembers) - 1};
  std::atomic<uint64_t> together{0};  // members that another one has answered
  // The numbers that a sender has committed without the daemon, as far as a member has seen it.
  static constexpr uint64_t kNumbers = 1024;
  std::atomic<bool> committed[kNumbers] = {};
  std::atomic<uint64_t> commits{0};

  static constexpr int kShift = 8;
  uint64_t number() const { return state >> kShift; }
  void Arrive(uint64_t at, uint64_t members) {
    uint64_t before = state;
    while (before >> kShift == at && !state.compare_exchange_weak(before, before | members)) {
    }
  }
  // Takes a report that this number was committed.
  void Commit(uint64_t at) {
    committed[at] = true;
    ++commits;
    uint64_t before = state;
    while (before >> kShift <= at && !state.compare_exchange_weak(before, (at + 1) << kShift)) {
    }
  }
  // Returns whether the number is over, because all living members have arrived.
  bool IsOver(uint64_t at) {
    uint64_t before = state;
    const uint64_t all = (1u << kShift) - 1;
    if (before >> kShift == at && (before & alive) == alive) {
      state.compare_exchange_strong(before, (before & ~all) + (1u << kShift));
    }
    return number() > at;
  }
};

std::string ResultOf(uint64_t number) { return std::to_string(number) + std::string(200, '.'); }

// A child process, which meets until it is killed or all numbers are over. Its exit code says what
// went wrong.
class Member {
 public:
  // If `commits`, a sender with the parts of all members completes the number without the daemon.
  Member(NodeSegment* segment, uint32_t self, Counter* counter, bool commits)
      : self_(self),
        counter_(counter),
        commits_(commits),
        slots_(*segment->FindGroup(1), {0, 1, 2, 3, 4, 5}, self) {}

  [[noreturn]] void Run(uint64_t until) {
    FanInTimes times;
    times.patience = kPatience;
    FanInRound<SharedFutex> round(&slots_, times);
    for (uint64_t number = 0; counter_->number() < until; ++number) {
      Contribution contribution;
      contribution.sequence = number;
      contribution.payload = Payload(self_, number);
      if (!round.Begin(contribution, SharedFutex::Now() + kLong)) _exit(6);
      const FanInEnd end = round.Run([this](const auto& parts) { return Send(parts); });
      if (end.kind == FanInEnd::kAnswered) {
        if (end.on_node) counter_->Commit(number);
        if (end.answer != ResultOf(number) || counter_->number() <= number) _exit(3);
        ++counter_->together;
      } else {
        if (end.kind != FanInEnd::kCallAlone) _exit(4);
        counter_->Arrive(number, uint64_t{1} << self_);
        while (!counter_->IsOver(number)) usleep(100);
        if (counter_->committed[number]) _exit(7);
      }
    }
    _exit(0);
  }

 private:
  static constexpr int64_t kPatience = 50'000'000;
  static constexpr int64_t kLong = 600'000'000'000;

  static std::string Payload(uint32_t member, uint64_t number) {
    return std::string(100 + number % 900, static_cast<char>('a' + member));
  }

  std::optional<Delivery> Send(const std::vector<TakenPart>& parts) {
    Delivery delivery;
    const uint64_t number = parts[0].contribution.sequence;
    uint64_t members = 0;
    for (uint32_t i = 0; i < parts.size(); ++i) {
      if (parts[i].contribution.payload != Payload(parts[i].member, number)) _exit(5);
      members |= uint64_t{1} << parts[i].member;
      delivery.completed.push_back(i);
    }
    if (commits_ && parts.size() == kMembers) {
      delivery.answer = ResultOf(number);
      delivery.on_node = true;
      return delivery;
    }
    counter_->Arrive(number, members);
    const int64_t until = SharedFutex::Now() + kPatience;
    while (!counter_->IsOver(number)) {
      if (SharedFutex::Now() > until) return std::nullopt;
      usleep(20);
    }
    delivery.answer = ResultOf(number);
    return delivery;
  }

  const uint32_t self_;
  Counter* const counter_;
  const bool commits_;
  FanInSlots<SharedFutex> slots_;
};

class KilledMemberTest : public ::testing::Test {
 protected:
  KilledMemberTest() {
    char name[] = "/dev/shm/muster-killed-test-XXXXXX";
    folder_ = mkdtemp(name);
    void* const memory =
        mmap(nullptr, sizeof(Counter), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    counter_ = new (memory) Counter();
  }
  ~KilledMemberTest() override {
    for (const pid_t child : children_) kill(child, SIGKILL);
    while (wait(nullptr) > 0) {
    }
    munmap(counter_, sizeof(Counter));
    std::filesystem::remove_all(folder_);
  }

  void Start(uint64_t until, bool commits = false) {
    for (uint32_t m = 0; m < kMembers; ++m) {
      const pid_t child = fork();
      if (child == 0) BeMember(m, until, commits);
      children_.push_back(child);
    }
  }
  [[noreturn]] void BeMember(uint32_t m, uint64_t until, bool commits) {
    SegmentOptions options;
    options.members = kMembers;
    options.self = m;
    options.folder = folder_;
    auto segment = NodeSegment::Open(options);
    if (!segment.ok()) _exit(2);
    while (!(*segment)->Ready()) usleep(1000);
    Member(segment->get(), m, counter_, commits).Run(until);
  }
  bool AwaitNumber(uint64_t number) {
    return testing::WaitUntil([&] { return counter_->number() >= number; });
  }
  int StatusOf(uint32_t m) {
    int status = -1;
    waitpid(children_[m], &status, 0);
    return status;
  }

  std::string folder_;
  Counter* counter_;
  std::vector<pid_t> children_;
};

TEST_F(KilledMemberTest, SurvivorsGoOn) {
  constexpr uint64_t kEach = 50;
  Start(kEach * kMembers);
  std::mt19937 random(1);
  for (uint32_t m = 0; m + 1 < kMembers; ++m) {
    ASSERT_TRUE(AwaitNumber(kEach * m + random() % kEach)) << "at " << counter_->number();
    usleep(random() % 2000);  // any instruction will do; nothing waits for this
    ASSERT_EQ(kill(children_[m], SIGKILL), 0);
    EXPECT_TRUE(WIFSIGNALED(StatusOf(m)));
    counter_->alive &= ~(uint64_t{1} << m);
  }
  EXPECT_TRUE(AwaitNumber(kEach * kMembers)) << "at " << counter_->number();
  const int last = StatusOf(kMembers - 1);
  EXPECT_TRUE(WIFEXITED(last) && WEXITSTATUS(last) == 0) << last;
  EXPECT_GT(counter_->together, kEach) << "and they did meet";
}

// A number is committed for all survivors, or each of them asks the daemon. Exit code 7 of a member
// says that it had to ask for a number that another one has seen committed.
TEST_F(KilledMemberTest, SurvivorsAgreeOnWhatASenderHasCommitted) {
  constexpr uint64_t kEnd = 150;
  std::mt19937 random(1);
  uint64_t commits = 0;
  for (int i = 0; i < 12; ++i) {
    new (counter_) Counter();
    Start(kEnd, /*commits=*/true);
    ASSERT_TRUE(AwaitNumber(random() % (kEnd / 2))) << "at " << counter_->number();
    usleep(random() % 2000);  // any instruction will do; nothing waits for this
    const uint32_t victim = random() % kMembers;
    ASSERT_EQ(kill(children_[victim], i % 2 == 0 ? SIGKILL : SIGSTOP), 0);
    counter_->alive &= ~(uint64_t{1} << victim);
    for (uint32_t m = 0; m < kMembers; ++m) {
      if (m == victim) continue;
      const int status = StatusOf(m);
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
          << "member " << m << ": " << status;
    }
    kill(children_[victim], SIGKILL);
    StatusOf(victim);
    children_.clear();
    commits += counter_->commits;
  }
  EXPECT_GT(commits, 0u);
}

TEST_F(KilledMemberTest, AStoppedMembersSlotsDelayNoOtherMember) {
  constexpr uint64_t kEnd = 300;
  Start(kEnd);
  for (uint32_t m = 0; m < 3; ++m) {
    ASSERT_TRUE(AwaitNumber(kEnd / 4 * (m + 1) / 2));
    ASSERT_EQ(kill(children_[m], SIGSTOP), 0);
    counter_->alive &= ~(uint64_t{1} << m);  // as the daemon would count it lost
    const uint64_t now = counter_->number();
    ASSERT_TRUE(AwaitNumber(now + 10)) << "at " << counter_->number();
  }
  EXPECT_TRUE(AwaitNumber(kEnd));
}

}  // namespace
}  // namespace muster::internal
