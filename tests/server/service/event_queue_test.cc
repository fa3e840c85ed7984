#include "server/service/event_queue.h"

#include <memory>

#include "gtest/gtest.h"

namespace muster::service {
namespace {

const core::Time kNow = absl::FromUnixSeconds(1700000000);

core::SharedEvent Event() { return std::make_shared<const core::Event>(core::Attached()); }

TEST(EventQueueTest, GivesOneItemAfterTheOther) {
  EventQueue queue;
  EXPECT_FALSE(queue.Next());
  queue.Push(kNow, {Event(), {}});
  queue.Push(kNow, {nullptr, absl::OkStatus()});
  EXPECT_NE(queue.Next()->second.event, nullptr);
  EXPECT_FALSE(queue.Next());
  queue.Written();
  EXPECT_EQ(queue.Next()->second.event, nullptr);
}

TEST(EventQueueTest, BeyondTheBoundOnlyTheEndIsLeft) {
  EventQueue queue;
  for (size_t i = 0; i < EventQueue::kMaxWaiting; ++i) queue.Push(kNow, {Event(), {}});
  EXPECT_FALSE(queue.TakeOverflow());
  queue.Push(kNow, {Event(), {}});
  EXPECT_TRUE(queue.TakeOverflow());
  EXPECT_FALSE(queue.TakeOverflow());
  queue.Push(kNow, {Event(), {}});
  queue.Push(kNow, {nullptr, absl::UnavailableError("does not read")});
  EXPECT_EQ(queue.Next()->second.end, absl::UnavailableError("does not read"));
}

}  // namespace
}  // namespace muster::service
