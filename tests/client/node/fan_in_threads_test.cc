// Tests of threads that meet at collectives in shared memory, in real time. Schedules of single
// steps cannot test the memory orders. Here the processor and the thread sanitizer do.

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "client/src/node/fan_in_round.h"
#include "client/src/node/futex.h"
#include "gtest/gtest.h"

namespace muster::internal {
namespace {

constexpr uint32_t kMembers = 4;
constexpr uint64_t kNumbers = 1500;
constexpr size_t kWords = 128;
constexpr int64_t kDawdle = 30'000;  // nanoseconds by which a sender may be slow to commit

struct Memory {
  alignas(64) SlotFutex word{0};
  SharedWord content[kWords] = {};
  SharedWord result[kWords] = {};
};

// Counts arrivals, and completes a number when all members have arrived.
class Counter {
 public:
  void Arrive(uint64_t number, uint32_t member) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (number == number_) here_.insert(member);
    if (here_.size() < kMembers) return;
    here_.clear();
    ++number_;
  }
  // Notes that a sender has committed the number on the node.
  void Commit(uint64_t number) {
    std::lock_guard<std::mutex> lock(mutex_);
    committed_.insert(number);
    if (number != number_) return;
    here_.clear();
    ++number_;
  }
  bool HasCompleted(uint64_t number) {
    std::lock_guard<std::mutex> lock(mutex_);
    return number < number_;
  }
  bool WasCommitted(uint64_t number) {
    std::lock_guard<std::mutex> lock(mutex_);
    return committed_.count(number) > 0;
  }
  size_t commits() const { return committed_.size(); }

 private:
  std::mutex mutex_;
  uint64_t number_ = 0;
  std::set<uint32_t> here_;
  std::set<uint64_t> committed_;
};

std::string ResultOf(uint64_t number) {
  return std::to_string(number) + std::string(number % 300, 'r');
}

std::string NodeResultOf(uint64_t number) { return "on the node: " + ResultOf(number); }

class Member {
 public:
  Member(const SharedGroup& group, uint32_t self, Counter* counter, int64_t patience,
         uint64_t numbers)
      : self_(self),
        numbers_(numbers),
        counter_(counter),
        commits_(group.commits != nullptr),
        slots_(group, {0, 1, 2, 3}, self) {
    times_.patience = patience;
  }

  void Run() {
    FanInRound<SharedFutex> round(&slots_, times_);
    for (uint64_t number = 0; number < numbers_; ++number) {
      Contribution contribution;
      contribution.sequence = number;
      contribution.attempt = number;
      contribution.payload = Payload(self_, number);
      ASSERT_TRUE(round.Begin(contribution, SharedFutex::Now() + 60'000'000'000));
      const FanInEnd end = round.Run([this](const auto& parts) { return Send(parts); });
      if (end.kind == FanInEnd::kAnswered && end.answer == NodeResultOf(number)) {
        counter_->Commit(number);
      } else if (end.kind == FanInEnd::kAnswered) {
        EXPECT_EQ(end.answer, ResultOf(number));
        EXPECT_TRUE(counter_->HasCompleted(number));
      } else {
        EXPECT_EQ(end.kind, FanInEnd::kCallAlone);
        counter_->Arrive(number, self_);
        while (!counter_->HasCompleted(number)) std::this_thread::yield();
        EXPECT_FALSE(counter_->WasCommitted(number)) << "member " << self_ << " op " << number;
      }
    }
  }

 private:
  static std::string Payload(uint32_t member, uint64_t number) {
    return std::string(number % 500, static_cast<char>('a' + member));
  }

  std::optional<Delivery> Send(const std::vector<TakenPart>& parts) {
    Delivery delivery;
    if (commits_ && parts.size() == kMembers) {
      for (const TakenPart& part : parts) {
        EXPECT_EQ(part.contribution.payload, Payload(part.member, part.contribution.sequence));
      }
      const uint64_t number = parts[0].contribution.sequence;
      const int64_t until = SharedFutex::Now() + static_cast<int64_t>(number % 5) * kDawdle;
      while (SharedFutex::Now() < until) {
      }
      return Delivery{{}, NodeResultOf(number), /*on_node=*/true};
    }
    for (uint32_t i = 0; i < parts.size(); ++i) {
      const Contribution& c = parts[i].contribution;
      EXPECT_EQ(c.payload, Payload(parts[i].member, c.sequence));
      counter_->Arrive(c.sequence, parts[i].member);
      delivery.completed.push_back(i);
    }
    const uint64_t number = parts[0].contribution.sequence;
    delivery.answer = ResultOf(number);
    const int64_t until = SharedFutex::Now() + 20'000'000;
    while (!counter_->HasCompleted(number)) {
      if (SharedFutex::Now() > until) return std::nullopt;
      std::this_thread::yield();
    }
    return delivery;
  }

  const uint32_t self_;
  const uint64_t numbers_;
  Counter* const counter_;
  const bool commits_;
  FanInTimes times_;
  FanInSlots<SharedFutex> slots_;
};

// Runs all members through so many numbers. Null `commits`: nothing completes on the node. The
// patience is that of every other member.
void RunMembers(Counter* counter, SharedWord* commits, int64_t patience, uint64_t numbers) {
  std::vector<Memory> memory(kMembers);
  SlotFutex bell{0};
  SharedGroup group;
  group.bell = &bell;
  group.commits = commits;
  for (Memory& m : memory) {
    group.slots.push_back({&m.word, {m.content, kWords}, {m.result, kWords}});
  }
  std::vector<std::unique_ptr<Member>> members;
  std::vector<std::thread> threads;
  for (uint32_t m = 0; m < kMembers; ++m) {
    const int64_t own = m % 2 == 0 ? patience : 20'000'000;
    members.push_back(std::make_unique<Member>(group, m, counter, own, numbers));
  }
  for (auto& member : members) threads.emplace_back([&member] { member->Run(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(counter->HasCompleted(numbers - 1));
}

TEST(FanInThreadsTest, EveryMemberGetsEachResultInOrder) {
  Counter counter;
  RunMembers(&counter, nullptr, 20'000'000, kNumbers);
}

TEST(FanInThreadsTest, EveryMemberGetsEachCommittedResult) {
  Counter counter;
  SharedWord commits{0};
  RunMembers(&counter, &commits, 20'000'000, kNumbers);
  EXPECT_GT(counter.commits(), 0u);
}

// Impatient members revoke while the sender commits. A number is then committed for all of them, or
// for none.
TEST(FanInThreadsTest, ARevocationAndACommitExcludeEachOther) {
  Counter counter;
  SharedWord commits{0};
  RunMembers(&counter, &commits, /*patience=*/1'000, kNumbers / 5);
}

}  // namespace
}  // namespace muster::internal
