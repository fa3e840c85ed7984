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
  bool HasCompleted(uint64_t number) {
    std::lock_guard<std::mutex> lock(mutex_);
    return number < number_;
  }

 private:
  std::mutex mutex_;
  uint64_t number_ = 0;
  std::set<uint32_t> here_;
};

std::string ResultOf(uint64_t number) {
  return std::to_string(number) + std::string(number % 300, 'r');
}

class Member {
 public:
  Member(std::vector<Memory>* memory, uint32_t self, Counter* counter)
      : self_(self), counter_(counter), slots_(SlotsOf(memory), {0, 1, 2, 3}, self) {}

  void Run() {
    FanInTimes times;
    times.patience = 20'000'000;
    FanInRound<SharedFutex> round(&slots_, times);
    for (uint64_t number = 0; number < kNumbers; ++number) {
      Contribution contribution;
      contribution.sequence = number;
      contribution.attempt = number;
      contribution.payload = Payload(self_, number);
      ASSERT_TRUE(round.Begin(contribution, SharedFutex::Now() + 60'000'000'000));
      const FanInEnd end = round.Run([this](const auto& parts) { return Send(parts); });
      if (end.kind == FanInEnd::kAnswered) {
        EXPECT_EQ(end.answer, ResultOf(number));
        EXPECT_TRUE(counter_->HasCompleted(number));
      } else {
        EXPECT_EQ(end.kind, FanInEnd::kCallAlone);
        counter_->Arrive(number, self_);
        while (!counter_->HasCompleted(number)) std::this_thread::yield();
      }
    }
  }

 private:
  static std::vector<SharedSlot> SlotsOf(std::vector<Memory>* memory) {
    std::vector<SharedSlot> slots;
    for (Memory& m : *memory) slots.push_back({&m.word, {m.content, kWords}, {m.result, kWords}});
    return slots;
  }
  static std::string Payload(uint32_t member, uint64_t number) {
    return std::string(number % 500, static_cast<char>('a' + member));
  }

  std::optional<Delivery> Send(const std::vector<TakenPart>& parts) {
    Delivery delivery;
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
  Counter* const counter_;
  FanInSlots<SharedFutex> slots_;
};

TEST(FanInThreadsTest, EveryMemberGetsEachResultInOrder) {
  std::vector<Memory> memory(kMembers);
  Counter counter;
  std::vector<std::unique_ptr<Member>> members;
  std::vector<std::thread> threads;
  for (uint32_t m = 0; m < kMembers; ++m) {
    members.push_back(std::make_unique<Member>(&memory, m, &counter));
  }
  for (auto& member : members) threads.emplace_back([&member] { member->Run(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(counter.HasCompleted(kNumbers - 1));
}

}  // namespace
}  // namespace muster::internal
