#include "server/service/store_send_queue.h"

#include <memory>
#include <string>

#include "gtest/gtest.h"

namespace muster::service {
namespace {

using Kind = StoreSendQueue::Item::Kind;

core::StoreResponse AnswerOf(size_t bytes) {
  core::StoreAnswer answer;
  answer.value = std::make_shared<const std::string>(bytes, 'v');
  return answer;
}

TEST(StoreSendQueueTest, WritesOneItemAtATimeInOrder) {
  StoreSendQueue queue(1 << 20);
  queue.Push(core::StoreDrop{"a", 1});
  queue.Push(core::StoreDrop{"b", 2});
  EXPECT_EQ(std::get<core::StoreDrop>(queue.Next()->message).key, "a");
  EXPECT_FALSE(queue.Next());
  EXPECT_EQ(queue.Written(), Kind::kMessage);
  EXPECT_EQ(std::get<core::StoreDrop>(queue.Next()->message).key, "b");
}

TEST(StoreSendQueueTest, NothingFollowsTheEnd) {
  StoreSendQueue queue(1 << 20);
  queue.PushEnd(absl::CancelledError("first"));
  queue.PushEnd(absl::OkStatus());
  queue.Push(core::StoreDrop{"a", 1});
  queue.PushProbe();
  const auto end = queue.Next();
  EXPECT_EQ(end->kind, Kind::kEnd);
  EXPECT_EQ(end->end.message(), "first");
  EXPECT_EQ(queue.Written(), Kind::kEnd);
  EXPECT_FALSE(queue.Next());
}

TEST(StoreSendQueueTest, ReadsPauseWhileTooMuchIsUnread) {
  StoreSendQueue queue(uint64_t{1} << 40);
  EXPECT_TRUE(queue.MayRead());
  queue.Push(AnswerOf(StoreSendQueue::kReadsUpTo));
  queue.Next();
  EXPECT_FALSE(queue.MayRead());
  EXPECT_FALSE(queue.TakeResumed());
  queue.Written();
  EXPECT_TRUE(queue.TakeResumed());
  EXPECT_FALSE(queue.TakeResumed());
}

TEST(StoreSendQueueTest, ReadsPauseWhileTooManyMessagesAreUnread) {
  StoreSendQueue queue(uint64_t{1} << 40);
  for (uint64_t i = 0; i <= StoreSendQueue::kReadsUpToMessages; ++i) {
    EXPECT_TRUE(queue.MayRead());
    queue.Push(core::StoreDrop{"a", i});
  }
  EXPECT_FALSE(queue.MayRead());
}

TEST(StoreSendQueueTest, BeyondTheBoundOnlyTheEndIsSent) {
  StoreSendQueue queue(10'000);
  queue.Push(AnswerOf(6000));
  EXPECT_FALSE(queue.TakeOverflow());
  queue.Push(AnswerOf(6000));
  EXPECT_TRUE(queue.TakeOverflow());
  EXPECT_FALSE(queue.TakeOverflow());
  queue.Push(core::StoreDrop{"a", 1});
  queue.PushEnd(absl::UnavailableError("unread"));
  EXPECT_EQ(queue.Next()->kind, Kind::kEnd);
}

}  // namespace
}  // namespace muster::service
