// Tests of EventQueue.
#include "client/launcher/process/event_queue.h"

#include <memory>
#include <thread>
#include <vector>

#include "client/launcher/process/event_loop.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::launcher {
namespace {

using ::testing::IsEmpty;

TEST(EventQueueTest, WakesALoopFromAnotherThread) {
  EventLoop loop;
  EventQueue<int> queue;
  std::vector<int> taken;
  loop.Watch(queue.fd(), [&] {
    for (const int number : queue.Take()) taken.push_back(number);
  });
  std::thread adds([&] {
    for (int i = 0; i < 1000; ++i) queue.Add(i);
  });
  while (taken.size() < 1000) loop.Poll(absl::InfiniteDuration());
  adds.join();
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(taken[i], i);
  loop.Forget(queue.fd());
}

TEST(EventQueueTest, IsReadableOnlyWhileThereAreEvents) {
  EventLoop loop;
  EventQueue<std::unique_ptr<int>> queue;
  int wakes = 0;
  loop.Watch(queue.fd(), [&] { ++wakes; });
  loop.Poll(absl::ZeroDuration());
  EXPECT_EQ(wakes, 0);
  queue.Add(std::make_unique<int>(7));
  queue.Add(nullptr);
  loop.Poll(absl::ZeroDuration());
  loop.Poll(absl::ZeroDuration());
  EXPECT_EQ(wakes, 2);
  EXPECT_EQ(queue.Take().size(), 2u);
  EXPECT_THAT(queue.Take(), IsEmpty());
  loop.Poll(absl::ZeroDuration());
  EXPECT_EQ(wakes, 2);
  loop.Forget(queue.fd());
}

}  // namespace
}  // namespace muster::launcher
