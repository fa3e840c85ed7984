// Tests what a failed wait does before its exception ends the operation's messages.

#include "client/gloo/connections/interruptible_transport.h"

#include <chrono>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/gloo/connections/interrupter.h"
#include "gloo/transport/context.h"
#include "gloo/transport/pair.h"
#include "gloo/transport/unbound_buffer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::internal {
namespace {

using ::testing::ElementsAre;

// A message over a connection that is broken, or that a wait is interrupted on.
class Message final : public gloo::transport::UnboundBuffer {
 public:
  Message(bool broken, std::vector<std::string>* events)
      : UnboundBuffer(nullptr, 0), broken_(broken), events_(events) {}
  ~Message() override { events_->push_back("the message is dropped"); }

  bool waitRecv(int*, std::chrono::milliseconds) override { return Wait(); }
  bool waitSend(int*, std::chrono::milliseconds) override { return Wait(); }
  void abortWaitRecv() override {}
  void abortWaitSend() override {}
  void send(int, uint64_t, size_t, size_t) override { Post(); }
  void recv(int, uint64_t, size_t, size_t) override { Post(); }
  void recv(std::vector<int>, uint64_t, size_t, size_t) override { Post(); }

 private:
  void Post() const {
    if (broken_) throw std::runtime_error("the connection broke");
  }
  bool Wait() const {
    Post();
    return false;
  }

  const bool broken_;
  std::vector<std::string>* const events_;
};

class Transport final : public gloo::transport::Context {
 public:
  Transport(bool broken, std::vector<std::string>* events)
      : Context(0, 2), broken_(broken), events_(events) {}
  std::unique_ptr<gloo::transport::Pair>& createPair(int) override { std::abort(); }
  std::unique_ptr<gloo::transport::UnboundBuffer> createUnboundBuffer(void*, size_t) override {
    return std::make_unique<Message>(broken_, events_);
  }

 private:
  const bool broken_;
  std::vector<std::string>* const events_;
};

class InterruptibleTransportTest : public ::testing::Test {
 protected:
  InterruptibleTransportTest() {
    interrupter_.SetBeforeThrow([this](const std::exception& error) {
      events_.push_back(absl::StrCat(error.what(), "!"));
    });
  }

  // Runs an operation of one message, which `call` is a part of.
  template <class Call>
  void Run(bool broken, Call call) {
    InterruptibleContext context(std::make_shared<Transport>(broken, &events_), &interrupter_);
    try {
      const auto message = context.createUnboundBuffer(nullptr, 0);
      call(*message);
    } catch (const std::exception&) {
      events_.push_back("the operation ends");
    }
  }

  std::vector<std::string> events_;
  Interrupter interrupter_;
};

using Buffer = gloo::transport::UnboundBuffer;
constexpr std::chrono::milliseconds kForever(1'000'000);

TEST_F(InterruptibleTransportTest, AnInterruptedWaitIsToldWhileItsMessageExists) {
  for (const auto wait : {+[](Buffer& message) { message.waitRecv(nullptr, kForever); },
                          +[](Buffer& message) { message.waitSend(nullptr, kForever); }}) {
    events_.clear();
    Run(/*broken=*/false, wait);
    EXPECT_THAT(events_,
                ElementsAre("interrupted!", "the message is dropped", "the operation ends"));
  }
}

TEST_F(InterruptibleTransportTest, ABrokenConnectionIsToldWhileTheMessageExists) {
  for (const auto call :
       {+[](Buffer& message) { message.waitRecv(nullptr, kForever); },
        +[](Buffer& message) { message.waitSend(nullptr, kForever); },
        +[](Buffer& message) { message.send(1, 7); }, +[](Buffer& message) { message.recv(1, 7); },
        +[](Buffer& message) { message.recv(std::vector<int>{1}, 7); }}) {
    events_.clear();
    Run(/*broken=*/true, call);
    EXPECT_THAT(events_, ElementsAre("the connection broke!", "the message is dropped",
                                     "the operation ends"));
  }
}

TEST_F(InterruptibleTransportTest, NothingIsToldAfterTheOperation) {
  interrupter_.SetBeforeThrow(nullptr);
  Run(/*broken=*/true, [](Buffer& message) { message.send(1, 7); });
  EXPECT_THAT(events_, ElementsAre("the message is dropped", "the operation ends"));
}

}  // namespace
}  // namespace muster::internal
