// The queue of a stream's events: its order, its bound, and the encoding that streams share.

#include "server/service/driver/stream_send_queue.h"

#include <memory>
#include <string>

#include "gtest/gtest.h"

namespace muster::service {
namespace {

const core::Time kNow = absl::FromUnixSeconds(1700000000);

std::shared_ptr<StreamedEvent> Event() {
  return std::make_shared<StreamedEvent>(kNow,
                                         std::make_shared<const core::Event>(core::Attached()));
}

TEST(StreamSendQueueTest, ReturnsItemsInOrder) {
  StreamSendQueue queue;
  EXPECT_FALSE(queue.Next());
  queue.Push({Event(), {}});
  queue.Push({nullptr, absl::OkStatus()});
  EXPECT_NE(queue.Next()->event, nullptr);
  EXPECT_FALSE(queue.Next());
  queue.Written();
  EXPECT_EQ(queue.Next()->event, nullptr);
}

TEST(StreamSendQueueTest, OverflowKeepsOnlyTheEnd) {
  StreamSendQueue queue;
  for (size_t i = 0; i < StreamSendQueue::kMaxWaiting; ++i) queue.Push({Event(), {}});
  EXPECT_FALSE(queue.TakeOverflow());
  queue.Push({Event(), {}});
  EXPECT_TRUE(queue.TakeOverflow());
  EXPECT_FALSE(queue.TakeOverflow());
  queue.Push({Event(), {}});
  queue.Push({nullptr, absl::UnavailableError("does not read")});
  EXPECT_EQ(queue.Next()->end, absl::UnavailableError("does not read"));
}

TEST(StreamedEventTest, IsEncodedOnceForAllStreams) {
  const std::shared_ptr<StreamedEvent> event = Event();
  int made = 0;
  const auto encode = [&] { return std::to_string(++made); };
  const std::shared_ptr<const std::string> first = event->EncodedBy<std::string>(encode);
  EXPECT_EQ(event->EncodedBy<std::string>(encode), first);
  EXPECT_EQ(*first, "1");
}

}  // namespace
}  // namespace muster::service
