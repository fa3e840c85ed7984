// Tests of which thread polls. The test plays the polls by hand.
#include "client/src/control_plane/polling_turns.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

namespace muster::internal {
namespace {

using Pauses = PollingTurns::Pauses;

class PollingTurnsTest : public ::testing::Test {
 protected:
  static constexpr std::chrono::hours kForEver{1};

  explicit PollingTurnsTest(const Pauses& pauses = {std::chrono::milliseconds(20),
                                                    std::chrono::milliseconds(20)})
      : turns_(
            pauses, [this](PollingTurns::How how) { Poll(how); },
            [this](PollingTurns::Lock*) { ++polls_ended_; }) {}

  // A thread of the program, which waits until the test says that it is ready.
  struct Thread {
    PollingTurns::Waiter waiter;
    bool ready = false;  // under mutex_
    std::thread::id id;  // under mutex_; set once the thread waits
    std::future<void> ended;
  };
  // Starts the thread, and returns when it polls, waits for its turn, or is ready.
  void Start(Thread* thread) {
    thread->id = std::thread::id();
    thread->ended = std::async(std::launch::async, [this, thread] {
      PollingTurns::Lock lock(mutex_);
      thread->id = std::this_thread::get_id();
      changed_.notify_all();
      turns_.Await(&lock, &thread->waiter, [thread] { return thread->ready; });
    });
    PollingTurns::Lock lock(mutex_);
    changed_.wait(lock, [thread] { return thread->id != std::thread::id(); });
  }
  // Makes the thread ready, and waits for its end.
  void End(Thread* thread) {
    {
      PollingTurns::Lock lock(mutex_);
      thread->ready = true;
      if (turns_.Notify(&thread->waiter)) Wake();
    }
    thread->ended.get();
  }
  // Blocks until this thread polls.
  void AwaitPollOf(std::thread::id thread) {
    PollingTurns::Lock lock(mutex_);
    changed_.wait(lock, [&] { return in_poll_ && poller_ == thread; });
  }
  // Blocks until `polls` polls that did not wait have been made.
  void AwaitStandInPolls(int polls) {
    PollingTurns::Lock lock(mutex_);
    changed_.wait(lock, [&] { return stand_in_polls_ >= polls; });
  }
  bool Polls(const Thread& thread) {
    PollingTurns::Lock lock(mutex_);
    return in_poll_ && poller_ == thread.id;
  }

  // Starts the stand-in, and returns when it polls.
  void StartStandIn() {
    stand_in_ = std::thread([this] {
      PollingTurns::Lock lock(mutex_);
      turns_.StandIn(&lock, [this] { return stopping_; });
    });
    AwaitPollOf(stand_in_.get_id());
  }
  void StopStandIn() {
    {
      PollingTurns::Lock lock(mutex_);
      stopping_ = true;
      turns_.WakeStandIn();
      Wake();
    }
    stand_in_.join();
  }

  PollingTurns turns_;
  std::thread stand_in_;
  bool stopping_ = false;  // under mutex_
  std::mutex mutex_;
  int stand_in_polls_ = 0;
  int polls_ended_ = 0;
  bool woken_ = false;

  // Ends the poll in progress. The caller holds the lock.
  void Wake() {
    woken_ = true;
    changed_.notify_all();
  }

 private:
  void Poll(PollingTurns::How how) {
    PollingTurns::Lock lock(mutex_);
    EXPECT_FALSE(in_poll_) << "two poll";
    in_poll_ = true;
    poller_ = std::this_thread::get_id();
    if (how == PollingTurns::How::kNow) ++stand_in_polls_;
    changed_.notify_all();
    if (how == PollingTurns::How::kUntilWoken) {
      changed_.wait(lock, [this] { return std::exchange(woken_, false); });
    }
    in_poll_ = false;
  }

  std::condition_variable changed_;
  bool in_poll_ = false;
  std::thread::id poller_;
};

TEST_F(PollingTurnsTest, AReadyThreadDoesNotPoll) {
  Thread one;
  one.ready = true;
  Start(&one);
  one.ended.get();
  EXPECT_EQ(polls_ended_, 0);
}

TEST_F(PollingTurnsTest, OneThreadPollsForAllThenTheNextInLine) {
  Thread one, two, three;
  Start(&one);
  AwaitPollOf(one.id);
  Start(&two);
  Start(&three);
  End(&two);
  EXPECT_TRUE(Polls(one)) << "another one's end is none of its own";
  End(&one);
  AwaitPollOf(three.id);
  End(&three);
}

// A thread may wait for something that needs no polling, and then come back to wait for the turn.
TEST_F(PollingTurnsTest, ABusyThreadIsSkipped) {
  Thread one, two, three;
  Start(&one);
  AwaitPollOf(one.id);
  Start(&two);
  End(&two);  // it was the first in line
  Start(&three);
  End(&one);
  AwaitPollOf(three.id);
  two.ready = false;
  Start(&two);
  End(&three);
  AwaitPollOf(two.id);
  End(&two);
}

TEST_F(PollingTurnsTest, TheStandInPollsWhileNoOtherThreadDoes) {
  Thread one;
  StartStandIn();
  Start(&one);
  {
    PollingTurns::Lock lock(mutex_);
    Wake();  // something has come, but for no waiting thread
  }
  AwaitPollOf(one.id);
  End(&one);
  AwaitStandInPolls(1);
  AwaitPollOf(stand_in_.get_id());
  StopStandIn();
}

class LongPausesTest : public PollingTurnsTest {
 protected:
  LongPausesTest() : PollingTurnsTest({kForEver, kForEver}) {}
};

TEST_F(LongPausesTest, TheProgramHasTheTurnUntilThePauseEnds) {
  StartStandIn();
  Thread one, two;
  Start(&one);
  {
    PollingTurns::Lock lock(mutex_);
    Wake();
  }
  AwaitPollOf(one.id);
  End(&one);
  Start(&two);
  AwaitPollOf(two.id);
  End(&two);
  StopStandIn();
}

class DoublingPausesTest : public PollingTurnsTest {
 protected:
  DoublingPausesTest() : PollingTurnsTest({std::chrono::microseconds(1), kForEver}) {}
};

// If pauses that end between two calls became longer, too, the last ones would never end.
TEST_F(DoublingPausesTest, PausesOfAProgramThatComputesStayShort) {
  constexpr int kCalls = 60;
  StartStandIn();
  for (int call = 1; call <= kCalls; ++call) {
    Thread one;
    Start(&one);
    {
      PollingTurns::Lock lock(mutex_);
      Wake();
    }
    End(&one);
    AwaitStandInPolls(call);
  }
  AwaitPollOf(stand_in_.get_id());
  StopStandIn();
}

}  // namespace
}  // namespace muster::internal
