// Answers that members do not read: which ones the daemon drops, and when.

#include "server/service/answers/unread_answer_limiter.h"

#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::service {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr uint64_t kLimit = 100000;
const core::Incarnation kProcess = "process-one-----";

CallKey Op(uint64_t sequence) { return {CallKey::Kind::kCollective, sequence, ""}; }

class UnreadAnswerLimiterTest : public ::testing::Test {
 protected:
  // An RPC that notes that its answer was dropped.
  class FakeRpc : public UnreadAnswerLimiter::Rpc {
   public:
    FakeRpc(UnreadAnswerLimiterTest* test, core::WaiterId id) : test_(test), id_(id) {}
    UnreadAnswerLimiter::StreamReset PrepareReset() override {
      return [this](const absl::Status& why) { test_->dropped_.emplace(id_, why.code()); };
    }

   private:
    UnreadAnswerLimiterTest* const test_;
    const core::WaiterId id_;
  };

  UnreadAnswerLimiter::Rpc* Rpc(core::WaiterId id) {
    return &rpcs_.try_emplace(id, this, id).first->second;
  }

  core::SessionId Attach(uint64_t counter, core::WaiterId stream) {
    const core::SessionId session{7, counter, /*key=*/99};
    unread_.SessionStarted(kProcess, session, stream, Rpc(stream));
    return session;
  }

  void Answer(core::WaiterId id, const SendKey& send, uint64_t bytes) {
    unread_.Arrived(send);
    unread_.Answered(id, send, bytes, Rpc(id));
  }

  UnreadAnswerLimiter unread_{kLimit};
  std::map<core::WaiterId, FakeRpc> rpcs_;
  std::multimap<core::WaiterId, absl::StatusCode> dropped_;
};

TEST_F(UnreadAnswerLimiterTest, ALaterSendDropsTheAnswerToAnEarlierOneOfTheSameCall) {
  const core::SessionId session = Attach(1, 10);
  Answer(11, {session, Op(0), 1}, 10);
  Answer(12, {session, Op(1), 2}, 10);
  EXPECT_THAT(dropped_, IsEmpty());
  unread_.Arrived({session, Op(0), 3});
  EXPECT_THAT(dropped_, ElementsAre(Pair(11, absl::StatusCode::kCancelled)));
}

// Counted before the core checks which session it belongs to.
TEST_F(UnreadAnswerLimiterTest, ASendWithAWrongSessionKeyDropsNothing) {
  core::SessionId guessed = Attach(1, 10);
  Answer(11, {guessed, Op(0), 1}, 10);
  guessed.key = 98;
  unread_.Arrived({guessed, Op(0), 3});
  unread_.Answered(12, {guessed, Op(0), 3}, 10 * kLimit, Rpc(12));
  EXPECT_THAT(dropped_, IsEmpty());
}

TEST_F(UnreadAnswerLimiterTest, AnEarlierSendThatArrivesLaterDropsNothing) {
  const core::SessionId session = Attach(1, 10);
  Answer(11, {session, Op(0), 2}, 10);
  unread_.Arrived({session, Op(0), 1});
  EXPECT_THAT(dropped_, IsEmpty());
}

TEST_F(UnreadAnswerLimiterTest, UnnumberedSendsReplaceNoAnswer) {
  const core::SessionId session = Attach(1, 10);
  Answer(11, {session, Op(0), 1}, 10);
  Answer(12, {session, Op(0), 1}, 10);
  EXPECT_THAT(dropped_, IsEmpty());
  Answer(13, {session, Op(0), 2}, 10);
  EXPECT_THAT(dropped_, ElementsAre(Pair(11, absl::StatusCode::kCancelled)));
}

TEST_F(UnreadAnswerLimiterTest, AnEarlierSendThatIsAnsweredLaterIsDropped) {
  const core::SessionId session = Attach(1, 10);
  unread_.Arrived({session, Op(0), 1});
  Answer(12, {session, Op(0), 2}, 10);
  unread_.Answered(11, {session, Op(0), 1}, 10, Rpc(11));
  EXPECT_THAT(dropped_, ElementsAre(Pair(11, absl::StatusCode::kCancelled)));
}

TEST_F(UnreadAnswerLimiterTest, ReadAnswersAreNotDropped) {
  const core::SessionId session = Attach(1, 10);
  Answer(11, {session, Op(0), 1}, 10);
  unread_.Done(11, {session, Op(0), 1});
  unread_.Arrived({session, Op(0), 2});
  Attach(2, 13);
  EXPECT_THAT(dropped_, IsEmpty());
}

TEST_F(UnreadAnswerLimiterTest, TheOldestAnswersAreDroppedBeyondTheLimit) {
  const core::SessionId session = Attach(1, 10);
  for (core::WaiterId id = 11; id < 15; ++id) Answer(id, {session, {}, id}, kLimit / 4);
  EXPECT_THAT(dropped_, ElementsAre(Pair(11, absl::StatusCode::kUnavailable)));
}

TEST_F(UnreadAnswerLimiterTest, OneAnswerMayBeLargerThanTheLimit) {
  const core::SessionId session = Attach(1, 10);
  Answer(11, {session, Op(0), 1}, kLimit * 2);
  EXPECT_THAT(dropped_, IsEmpty());
  Answer(12, {session, Op(1), 2}, 1);
  EXPECT_THAT(dropped_, ElementsAre(Pair(11, absl::StatusCode::kUnavailable)));
}

TEST_F(UnreadAnswerLimiterTest, TheLatestAnswerIsExemptHoweverOldItsCall) {
  const core::SessionId session = Attach(1, 10);
  Answer(12, {session, Op(0), 2}, kLimit / 2);
  Answer(11, {session, {CallKey::Kind::kLease}, 1}, kLimit * 2);
  EXPECT_THAT(dropped_, ElementsAre(Pair(12, absl::StatusCode::kUnavailable)));
}

TEST_F(UnreadAnswerLimiterTest, ANewSessionDropsTheAnswersToTheOldOne) {
  const core::SessionId session = Attach(1, 10);
  Answer(11, {session, Op(0), 1}, 10);
  Attach(2, 12);
  EXPECT_THAT(dropped_, ElementsAre(Pair(11, absl::StatusCode::kCancelled)));
}

TEST_F(UnreadAnswerLimiterTest, SessionsThatOvertakeEachOtherKeepTheLater) {
  const core::SessionId later = Attach(2, 12);
  Attach(1, 10);
  Answer(13, {later, Op(0), 1}, 10);
  unread_.Arrived({later, Op(0), 2});
  EXPECT_THAT(dropped_, ElementsAre(Pair(13, absl::StatusCode::kCancelled)));
}

TEST_F(UnreadAnswerLimiterTest, OneEndedStreamIsKeptForReading) {
  Attach(1, 10);
  Attach(2, 11);
  EXPECT_THAT(dropped_, IsEmpty());
  Attach(3, 12);
  EXPECT_THAT(dropped_, ElementsAre(Pair(10, absl::StatusCode::kCancelled)));
}

TEST_F(UnreadAnswerLimiterTest, AnswersToUnknownSessionsAreNotCounted) {
  Answer(11, {{7, 1}, Op(0), 1}, kLimit * 2);
  Answer(12, {{7, 1}, Op(0), 2}, kLimit * 2);
  unread_.Done(11, {{7, 1}, Op(0), 1});
  EXPECT_THAT(dropped_, IsEmpty());
}

TEST_F(UnreadAnswerLimiterTest, AMemberThatHasGoneIsForgotten) {
  const core::SessionId session = Attach(1, 10);
  Answer(11, {session, Op(0), 1}, 10);
  unread_.StreamDone(kProcess, 10);
  unread_.Done(11, {session, Op(0), 1});
  Answer(12, {session, Op(1), 2}, 10);  // of a session that is no longer known
  unread_.Arrived({session, Op(1), 3});
  EXPECT_THAT(dropped_, IsEmpty());
}

}  // namespace
}  // namespace muster::service
