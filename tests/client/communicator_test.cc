// The front end of the data planes, over a backend that records its calls, and groups of one.

#include "muster/communicator.h"

#include <atomic>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "client/src/data_plane/backend.h"
#include "client/src/data_plane/backend_registry.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "muster/log.h"
#include "tests/util/fake_job.h"

namespace muster {
namespace {

using ::muster::testing::FakeJob;
using ::testing::AllOf;
using ::testing::HasSubstr;

// What a test sees and steers of a RecordingBackend after it was given away.
struct Record {
  std::atomic<int> calls{0};
  absl::Duration timeout;       // of the last call
  absl::Status result;          // of the next call
  absl::Status aborted;         // OK: not aborted
  std::function<void()> body;   // runs in each call
  std::vector<void*> followed;  // streams
};

class RecordingBackend final : public internal::Backend {
 public:
  explicit RecordingBackend(Record* record) : record_(record) {}
  absl::Status AllReduce(const void*, void*, size_t, DataType, ReduceOp,
                         const CallOptions& options) override {
    return Note(options);
  }
  absl::Status Broadcast(void*, size_t, DataType, int, const CallOptions& options) override {
    return Note(options);
  }
  absl::Status Reduce(const void*, void*, size_t, DataType, ReduceOp, int,
                      const CallOptions& options) override {
    return Note(options);
  }
  absl::Status AllGather(const void*, void*, size_t, DataType,
                         const CallOptions& options) override {
    return Note(options);
  }
  absl::Status ReduceScatter(const void*, void*, size_t, DataType, ReduceOp,
                             const CallOptions& options) override {
    return Note(options);
  }
  absl::Status Exchange(absl::Span<const internal::Message>, absl::Span<const internal::Message>,
                        const CallOptions& options) override {
    return Note(options);
  }
  absl::Status AllToAll(const void*, void*, size_t, DataType, const CallOptions& options) override {
    return Note(options);
  }
  absl::Status AllGatherUneven(const void*, absl::Span<const size_t>, void*, DataType,
                               const CallOptions& options) override {
    return Note(options);
  }
  absl::Status Barrier(const CallOptions& options) override { return Note(options); }
  absl::Status Follow(void* stream) override {
    record_->followed.push_back(stream);
    return absl::OkStatus();
  }
  absl::Status CheckSupport(DataType type, std::optional<ReduceOp> op) const override {
    return type == DataType::kUint64 ? absl::UnimplementedError("no uint64") : absl::OkStatus();
  }
  std::string device() const override { return "GPU 5"; }
  void Abort(const absl::Status& why) override { record_->aborted = why; }

 private:
  absl::Status Note(const CallOptions& options) {
    ++record_->calls;
    record_->timeout = *options.timeout;
    if (record_->body) record_->body();
    return record_->result;
  }

  Record* const record_;
};

class FrontEndTest : public ::testing::Test {
 protected:
  FrontEndTest() : comm_(job_.world(1), Options(), "recording", MakeBackend()) {}

  static CommunicatorOptions Options() {
    CommunicatorOptions options;
    options.timeout = absl::Seconds(7);
    return options;
  }
  std::unique_ptr<internal::Backend> MakeBackend() {
    return std::make_unique<RecordingBackend>(&record_);
  }

  // The call was refused with this text, and the backend has not seen it.
  void ExpectRefused(const absl::Status& status, const std::string& text) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), text);
    EXPECT_EQ(record_.calls, 0);
  }

  Record record_;
  FakeJob job_{4};
  Communicator comm_;  // of rank 1
};

TEST_F(FrontEndTest, PassesCallsAndTheDefaultTimeoutOn) {
  EXPECT_EQ(comm_.rank(), 1);
  EXPECT_EQ(comm_.size(), 4);
  EXPECT_EQ(comm_.backend(), "recording");
  EXPECT_TRUE(comm_.Barrier().ok());
  EXPECT_EQ(record_.timeout, absl::Seconds(7));
  CallOptions own;
  own.timeout = absl::Seconds(3);
  EXPECT_TRUE(comm_.Barrier(own).ok());
  EXPECT_EQ(record_.timeout, absl::Seconds(3));
}

TEST_F(FrontEndTest, RefusesSizesThatDoNotFit) {
  const std::vector<float> three(3);
  std::vector<float> two(2);
  const absl::Span<const float> in(three);
  ExpectRefused(comm_.AllReduce(in, absl::MakeSpan(two)),
                "AllReduce on rank 1 of 4: in has 3 elements and out has 2, expected the same "
                "number");
  ExpectRefused(comm_.Reduce(in, absl::MakeSpan(two), ReduceOp::kSum, 1),
                "Reduce on rank 1 of 4: in has 3 elements and out has 2, expected the same number");
  ExpectRefused(comm_.AllGather(in, absl::MakeSpan(two)),
                "AllGather on rank 1 of 4: out has 2 elements and in has 3, expected out to have 4 "
                "times as many as in");
  ExpectRefused(comm_.ReduceScatter(in, absl::MakeSpan(two)),
                "ReduceScatter on rank 1 of 4: in has 3 elements and out has 2, expected in to "
                "have 4 times as many as out");
}

TEST_F(FrontEndTest, OnlyTheRootOfAReduceNeedsRoom) {
  const std::vector<float> three(3);
  EXPECT_TRUE(
      comm_.Reduce(absl::Span<const float>(three), absl::Span<float>(), ReduceOp::kSum, 0).ok());
}

TEST_F(FrontEndTest, RefusesRootsAndPeersOutOfRange) {
  std::vector<int32_t> data(1);
  const absl::Span<const int32_t> in(data);
  ExpectRefused(comm_.Broadcast(absl::MakeSpan(data), 4),
                "Broadcast on rank 1 of 4: root is 4, expected a rank from 0 to 3");
  ExpectRefused(comm_.Reduce(in, absl::MakeSpan(data), ReduceOp::kSum, -1),
                "Reduce on rank 1 of 4: root is -1, expected a rank from 0 to 3");
  ExpectRefused(comm_.Send(in, 4), "Send on rank 1 of 4: peer is 4, expected a rank from 0 to 3");
  ExpectRefused(comm_.Recv(absl::MakeSpan(data), 1),
                "Recv on rank 1 of 4: peer is this rank itself, expected another one");
}

TEST_F(FrontEndTest, RefusesPartsThatDoNotFit) {
  std::vector<int32_t> three(3), four(4), eight(8);
  ExpectRefused(comm_.AllToAll(three, four),
                "AllToAll on rank 1 of 4: in has 3 elements and out has 4, expected the same "
                "number");
  ExpectRefused(comm_.AllToAll(absl::MakeConstSpan(eight).first(6), absl::MakeSpan(eight).first(6)),
                "AllToAll on rank 1 of 4: in has 6 elements and a part has 1, expected in to have "
                "4 times as many as a part");
  ExpectRefused(comm_.AllToAll(eight, eight),
                "AllToAll on rank 1 of 4: in and out overlap, expected them to be disjoint");
  ExpectRefused(comm_.AllGather(three, {1, 2, 3}, eight),
                "AllGather on rank 1 of 4: there are 3 counts, expected one for each of 4 ranks");
  ExpectRefused(comm_.AllGather(three, {0, 2, 1, 5}, eight),
                "AllGather on rank 1 of 4: in has 3 elements and out has 8, expected 2 and 8 by "
                "counts");
  EXPECT_TRUE(comm_.AllGather(three, {0, 3, 0, 5}, eight).ok());
}

TEST_F(FrontEndTest, RefusesExchangesWithPeersThatAreNone) {
  std::vector<int32_t> out(3), in(4);
  ExpectRefused(comm_.SendRecv(out, 2, in, 4),
                "SendRecv on rank 1 of 4: peer is 4, expected a rank from 0 to 3");
  ExpectRefused(comm_.SendRecv(out, 1, in, 2),
                "SendRecv on rank 1 of 4: peer is this rank itself, expected another one");
  ExpectRefused(comm_.SendRecv(out, 1, in, 1),
                "SendRecv on rank 1 of 4: out has 3 elements and in has 4, expected the same "
                "number where a rank sends to itself");
  ExpectRefused(comm_.SendRecv(in, 2, in, 0),
                "SendRecv on rank 1 of 4: in and out overlap, expected them to be disjoint");
  EXPECT_TRUE(comm_.SendRecv(out, 2, in, 0).ok());
  EXPECT_EQ(record_.calls, 1);
  out = {7, 8, 9};
  std::vector<int32_t> own(3);
  EXPECT_TRUE(comm_.SendRecv(out, 1, own, 1).ok());
  EXPECT_EQ(own, out) << "a rank that sends to itself";
  EXPECT_EQ(record_.calls, 1);
}

TEST_F(FrontEndTest, RefusesExchangesOfManyThatCannotWork) {
  std::vector<int32_t> a(3), b(3);
  std::vector<double> c(2);
  const OutgoingTensor to_self[] = {{ViewOf(a), 2}, {ViewOf(a), 1}};
  ExpectRefused(comm_.SendRecv(to_self, {}),
                "SendRecv on rank 1 of 4: peer is this rank itself, expected another one");
  const IncomingTensor nobody[] = {{MutableViewOf(b), -1}};
  ExpectRefused(comm_.SendRecv({}, nobody),
                "SendRecv on rank 1 of 4: peer is -1, expected a rank from 0 to 3");
  constexpr char kOverlap[] =
      "SendRecv on rank 1 of 4: what is received overlaps with another tensor, expected them to be "
      "disjoint";
  const OutgoingTensor sends[] = {{ViewOf(a), 0}, {ViewOf(a), 2}, {ViewOf(c), 0}};
  const IncomingTensor into_sent[] = {{MutableViewOf(b), 0}, {MutableViewOf(c), 2}};
  ExpectRefused(comm_.SendRecv(sends, into_sent), kOverlap);
  const IncomingTensor twice[] = {{MutableViewOf(b), 0}, {MutableViewOf(b), 2}};
  ExpectRefused(comm_.SendRecv(sends, twice), kOverlap);
  EXPECT_EQ(record_.calls, 0);
  const IncomingTensor receives[] = {{MutableViewOf(b), 0}};
  EXPECT_TRUE(comm_.SendRecv(sends, receives).ok()) << "one tensor may go to several";
  EXPECT_EQ(record_.calls, 1);
}

TEST_F(FrontEndTest, ViewsAreCheckedBeforeAnythingIsSent) {
  std::vector<float> floats(4), others(4);
  std::vector<int32_t> integers(4);
  const MutableTensorView data = MutableViewOf(floats);
  ExpectRefused(comm_.AllReduce(data, MutableViewOf(integers)),
                "AllReduce: in is float32 [4] and out is int32 [4], expected the same type");
  MutableTensorView wrong = data;
  wrong.shape = {5};
  ExpectRefused(comm_.Broadcast(wrong),
                "Broadcast: a tensor of type and shape float32 [5] cannot have 16 bytes");
  wrong = data;
  wrong.type = static_cast<DataType>(99);
  ExpectRefused(comm_.Send(wrong, 2),
                "Send: the tensor's type is 99, expected one of DataType's values");
  wrong = data;
  wrong.data = reinterpret_cast<char*>(floats.data()) + 1;
  ExpectRefused(comm_.Recv(wrong, 2),
                "Recv: the tensor's data is not aligned to 4 bytes; copy it first");
  ExpectRefused(comm_.AllGather(data, data),
                "AllGather on rank 1 of 4: out has 4 elements and in has 4, expected out to have 4 "
                "times as many as in");
  const MutableTensorView refused[] = {data, MutableTensorView{DataType::kUint64, {0}, nullptr, 0}};
  EXPECT_EQ(comm_.AllReduceCoalesced(refused), absl::UnimplementedError("no uint64"));
  EXPECT_EQ(record_.calls, 0) << "not even the type that is not refused";
  EXPECT_TRUE(comm_.AllReduce(data, MutableViewOf(others)).ok());
}

TEST_F(FrontEndTest, TheBackendFollowsTheCallersStream) {
  std::vector<float> data(4);
  int stream = 0;
  CallOptions options;
  options.stream = &stream;
  EXPECT_TRUE(comm_.AllReduce(data).ok());
  EXPECT_TRUE(comm_.AllReduce(data, ReduceOp::kSum, options).ok());
  EXPECT_THAT(record_.followed, ::testing::ElementsAre(nullptr, &stream));
  // What is started follows when it is started, not when its turn comes.
  absl::Notification go_on;
  const PendingOperation first = comm_.Start(
      [&](Communicator&) {
        go_on.WaitForNotification();
        return absl::OkStatus();
      },
      &stream);
  const PendingOperation second =
      comm_.Start([&](Communicator& comm) { return comm.AllReduce(data); });
  EXPECT_THAT(record_.followed, ::testing::ElementsAre(nullptr, &stream, &stream, nullptr));
  go_on.Notify();
  EXPECT_TRUE(second.Wait().ok());
  EXPECT_EQ(record_.followed.size(), 4u);
}

TEST_F(FrontEndTest, WhatIsStartedRunsInOrderAndBeforeLaterCalls) {
  std::vector<float> data(1);
  std::vector<int> order;
  absl::Notification go_on;
  const PendingOperation first = comm_.Start([&](Communicator& comm) {
    go_on.WaitForNotification();
    order.push_back(1);
    return comm.AllReduce(data);
  });
  const PendingOperation second = comm_.Start([&](Communicator&) {
    order.push_back(2);
    return absl::InvalidArgumentError("its own");
  });
  EXPECT_FALSE(first.done());
  EXPECT_EQ(record_.calls, 0);
  std::thread other([&] { go_on.Notify(); });
  EXPECT_TRUE(comm_.Barrier().ok()) << "waits for its turn";
  EXPECT_THAT(order, ::testing::ElementsAre(1, 2));
  other.join();
  EXPECT_TRUE(first.done());
  EXPECT_TRUE(first.Wait().ok());
  EXPECT_EQ(second.Wait(), absl::InvalidArgumentError("its own"));
  EXPECT_EQ(second.Wait(), second.Wait());
  EXPECT_TRUE(PendingOperation().Wait().ok());
}

TEST_F(FrontEndTest, DestroyingWaitsForWhatWasStarted) {
  auto comm = std::make_unique<Communicator>(job_.world(2), Options(), "recording", MakeBackend());
  absl::Notification go_on;
  const PendingOperation started = comm->Start([&](Communicator& own) {
    go_on.WaitForNotification();
    return own.Barrier();
  });
  std::thread other([&] { go_on.Notify(); });
  comm.reset();
  EXPECT_TRUE(started.done());
  EXPECT_TRUE(started.Wait().ok());
  other.join();
}

TEST_F(FrontEndTest, WhatIsStartedMayThrowAndMayNotStartMore) {
  const PendingOperation thrown =
      comm_.Start([](Communicator&) -> absl::Status { throw std::runtime_error("its own"); });
  EXPECT_EQ(thrown.Wait(), absl::InternalError("the function given to Start threw: its own"));
  const PendingOperation nested = comm_.Start([](Communicator& comm) {
    return comm.Start([](Communicator&) { return absl::OkStatus(); }).Wait();
  });
  EXPECT_EQ(nested.Wait().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(comm_.Barrier().ok()) << "neither has ended the communicator";
}

TEST_F(FrontEndTest, ACallThatWaitsTooLongForWhatWasStartedEndsTheCommunicator) {
  absl::Notification go_on;
  const PendingOperation started = comm_.Start([&](Communicator&) {
    go_on.WaitForNotification();
    return absl::OkStatus();
  });
  CallOptions at_once;
  at_once.timeout = absl::ZeroDuration();
  const absl::Status status = comm_.Barrier(at_once);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()), HasSubstr("for what Start() had begun before"));
  EXPECT_EQ(record_.aborted, status);
  go_on.Notify();
  EXPECT_TRUE(started.Wait().ok());
  EXPECT_EQ(comm_.Barrier(), status);
}

TEST_F(FrontEndTest, RefusesUnknownReductions) {
  std::vector<double> data(1);
  ExpectRefused(
      comm_.AllReduce(absl::MakeSpan(data), static_cast<ReduceOp>(99)),
      "AllReduce on rank 1 of 4: op is 99, expected one of ReduceOp's: sum, product, min, "
      "max, average, bitwise and, bitwise or");
}

TEST_F(FrontEndTest, RefusesBitwiseReductionsOfFloats) {
  std::vector<double> data(1);
  ExpectRefused(
      comm_.AllReduce(absl::MakeSpan(data), ReduceOp::kBitwiseOr),
      "AllReduce on rank 1 of 4: op is bitwise or, which is for integers and bool, not for "
      "float64");
}

TEST_F(FrontEndTest, RefusesPartialOverlap) {
  std::vector<uint8_t> data(16);
  const absl::Span<uint8_t> all = absl::MakeSpan(data);
  const std::string text =
      ": in and out overlap in part; expected them to be disjoint, or the one to be this rank's "
      "place in the other";
  ExpectRefused(comm_.AllReduce(absl::Span<const uint8_t>(all.subspan(0, 8)), all.subspan(4, 8)),
                "AllReduce on rank 1 of 4" + text);
  ExpectRefused(comm_.AllGather(absl::Span<const uint8_t>(all.subspan(0, 4)), all),
                "AllGather on rank 1 of 4" + text);
  ExpectRefused(comm_.ReduceScatter(absl::Span<const uint8_t>(all), all.subspan(8, 4)),
                "ReduceScatter on rank 1 of 4" + text);
  EXPECT_TRUE(comm_.AllGather(absl::Span<const uint8_t>(all.subspan(4, 4)), all).ok());
}

TEST_F(FrontEndTest, RefusesTimeoutsThatAreNone) {
  CallOptions options;
  options.timeout = absl::Seconds(-1);
  ExpectRefused(comm_.Barrier(options),
                "Barrier on rank 1 of 4: timeout is -1s, expected one that is not negative and not "
                "infinite");
  options.timeout = absl::InfiniteDuration();
  ExpectRefused(comm_.Barrier(options),
                "Barrier on rank 1 of 4: timeout is inf, expected one that is not negative and not "
                "infinite");
  CommunicatorOptions create;
  create.timeout = absl::Seconds(-2);
  EXPECT_EQ(Communicator::Create(job_.world(1), create).status().message(),
            "Communicator::Create on rank 1 of 4: timeout is -2s, expected one that is not "
            "negative and not infinite");
}

TEST_F(FrontEndTest, RefusesASecondCallAtOnce) {
  absl::Notification inside, go_on;
  record_.body = [&] {
    inside.Notify();
    go_on.WaitForNotification();
  };
  std::thread first([&] { EXPECT_TRUE(comm_.Barrier().ok()); });
  inside.WaitForNotification();
  std::vector<float> data(1);
  const absl::Status second = comm_.AllReduce(absl::MakeSpan(data));
  EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.message()),
              HasSubstr("AllReduce on rank 1 of 4: another call on this communicator is in "
                        "progress"));
  go_on.Notify();
  first.join();
  record_.body = nullptr;
  EXPECT_TRUE(comm_.Barrier().ok());
}

TEST_F(FrontEndTest, ReturnsTheFirstErrorAgain) {
  record_.result = absl::DeadlineExceededError("too late");
  EXPECT_EQ(comm_.Barrier(), record_.result);
  record_.result = absl::OkStatus();
  EXPECT_EQ(comm_.Barrier(), absl::DeadlineExceededError("too late"));
  EXPECT_EQ(record_.calls, 1);
}

TEST_F(FrontEndTest, ALossAbortsTheBackendAndIsReturnedFromThenOn) {
  job_.Lose(3);
  EXPECT_EQ(record_.aborted, FakeJob::LossOf(3));
  EXPECT_EQ(comm_.Barrier(), FakeJob::LossOf(3));
  EXPECT_EQ(record_.calls, 0);
}

TEST_F(FrontEndTest, ALossDuringACallIsItsError) {
  record_.body = [&] { job_.Lose(2); };
  record_.result = absl::UnavailableError("the connection broke");
  EXPECT_EQ(comm_.Barrier(), FakeJob::LossOf(2));
}

TEST_F(FrontEndTest, AnUnsupportedTypeIsRefusedAndEndsNothing) {
  std::vector<uint64_t> data(4), others(4);
  const absl::Span<uint64_t> all = absl::MakeSpan(data);
  const absl::Span<const uint64_t> one = absl::Span<const uint64_t>(all.subspan(1, 1));
  const absl::Span<uint64_t> buffers[] = {all};
  for (const absl::Status& status :
       {comm_.AllReduce(all), comm_.AllReduceCoalesced<uint64_t>(buffers), comm_.Broadcast(all),
        comm_.Reduce(one, all.subspan(1, 1), ReduceOp::kSum, 0), comm_.AllGather(one, all),
        comm_.AllGather(one, std::vector<size_t>{1, 1, 1, 1}, all), comm_.AllToAll(data, others),
        comm_.SendRecv(data, 2, others, 0),
        comm_.ReduceScatter(absl::Span<const uint64_t>(all), all.subspan(1, 1)), comm_.Send(one, 2),
        comm_.Recv(all, 2)}) {
    EXPECT_EQ(status, absl::UnimplementedError("no uint64"));
  }
  EXPECT_EQ(record_.calls, 0);
  EXPECT_TRUE(comm_.Barrier().ok());
}

TEST_F(FrontEndTest, ManyBuffersAreReducedWithinOneTimeout) {
  std::vector<float> a(2), b(3);
  const absl::Span<float> buffers[] = {absl::MakeSpan(a), absl::MakeSpan(b)};
  EXPECT_TRUE(comm_.AllReduceCoalesced<float>(buffers).ok());
  EXPECT_EQ(record_.calls, 2);
  EXPECT_LT(record_.timeout, absl::Seconds(7));
  record_.result = absl::UnavailableError("broken");
  EXPECT_EQ(comm_.AllReduceCoalesced<float>(buffers), record_.result);
  EXPECT_EQ(record_.calls, 3);
}

// ---- The choice of a backend ----

absl::Status Usable() { return absl::OkStatus(); }
absl::Status Unusable() { return absl::FailedPreconditionError("no GPU is visible"); }

std::vector<internal::BackendKind> Kinds() {
  return {{"fast", 2, &Unusable, nullptr}, {"steady", 1, &Usable, nullptr}};
}

class ChoiceTest : public ::testing::Test {
 protected:
  ~ChoiceTest() override { unsetenv("MUSTER_BACKEND"); }
};

TEST_F(ChoiceTest, TakesTheFirstUsableOneAndSaysWhy) {
  const auto choice = internal::ChooseBackend(Kinds(), "");
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_EQ(choice->kind.name, "steady");
  EXPECT_EQ(choice->reason, "'fast' cannot be used here: no GPU is visible");
}

TEST_F(ChoiceTest, TheOptionComesBeforeTheEnvironment) {
  setenv("MUSTER_BACKEND", "fast", 1);
  const auto choice = internal::ChooseBackend(Kinds(), "steady");
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_EQ(choice->reason, "CommunicatorOptions::backend asks for it");
  const absl::Status refused = internal::ChooseBackend(Kinds(), "").status();
  EXPECT_EQ(refused, absl::FailedPreconditionError("MUSTER_BACKEND asks for the backend 'fast', "
                                                   "which cannot be used here: no GPU is visible"));
}

TEST_F(ChoiceTest, ListsWhatIsLinked) {
  EXPECT_EQ(internal::ChooseBackend(Kinds(), "gloo").status(),
            absl::NotFoundError("CommunicatorOptions::backend asks for the backend 'gloo', which "
                                "this program does not link (linked: fast, steady); link "
                                "//client/gloo"));
  EXPECT_EQ(internal::ChooseBackend({}, "").status(),
            absl::NotFoundError("no communicator backend is linked; link //client/gloo, or "
                                "//client/nccl where there are GPUs"));
}

// ---- Groups of one ----

TEST(SerialTest, EveryOperationWorks) {
  FakeJob job(1);
  auto comm = Communicator::Create(job.world(0));
  ASSERT_TRUE(comm.ok()) << comm.status();
  EXPECT_EQ((*comm)->backend(), "serial");
  const std::vector<double> in = {1, 2.5};
  const absl::Span<const double> data(in);
  std::vector<double> out(2);
  EXPECT_TRUE((*comm)->AllReduce(data, absl::MakeSpan(out), ReduceOp::kAverage).ok());
  EXPECT_EQ(out, in);
  EXPECT_TRUE((*comm)->AllReduce(absl::MakeSpan(out)).ok());
  EXPECT_TRUE((*comm)->Broadcast(absl::MakeSpan(out)).ok());
  EXPECT_TRUE((*comm)->AllGather(data, absl::MakeSpan(out)).ok());
  EXPECT_TRUE((*comm)->Reduce(data, absl::MakeSpan(out)).ok());
  EXPECT_TRUE((*comm)->ReduceScatter(data, absl::MakeSpan(out)).ok());
  EXPECT_TRUE((*comm)->AllToAll(in, out).ok());
  EXPECT_TRUE((*comm)->AllGather(in, {2}, out).ok());
  EXPECT_TRUE((*comm)->SendRecv(in, 0, out, 0).ok());
  EXPECT_TRUE((*comm)->Start([&](Communicator& c) { return c.AllReduce(out); }).Wait().ok());
  EXPECT_TRUE((*comm)->Barrier().ok());
  EXPECT_EQ(out, in);
  EXPECT_EQ((*comm)->Send(data, 0).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(job.completed_collectives(), 0);
}

TEST(SerialTest, ANamedBackendThatIsNotLinkedIsStillAnError) {
  FakeJob job(1);
  CommunicatorOptions options;
  options.backend = "gloo";
  const absl::Status status = Communicator::Create(job.world(0), options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("link //client/gloo"));
}

absl::StatusOr<std::unique_ptr<internal::Backend>> MakeOnDevice(const Group&,
                                                                const CommunicatorOptions&) {
  static Record* const record = new Record;
  return std::make_unique<RecordingBackend>(record);
}

TEST(DeviceMemoryTest, AGroupOfOneUsesABackendWhoseDataIsOnADevice) {
  static bool usable = true;
  internal::RegisterBackend(
      {"device", 1,
       [] { return usable ? absl::OkStatus() : absl::FailedPreconditionError("no GPU"); },
       &MakeOnDevice, /*device_memory=*/true});
  std::vector<std::string> lines;
  SetLogSink([&](LogLevel level, absl::string_view line) { lines.emplace_back(line); });
  FakeJob job(1);
  EXPECT_EQ((*Communicator::Create(job.world(0)))->backend(), "device");
  usable = false;
  EXPECT_EQ((*Communicator::Create(job.world(0)))->backend(), "serial");
  SetLogSink(nullptr);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[0], HasSubstr("backend device on GPU 5: the first choice of those linked"));
}

TEST(SerialTest, ALossElsewhereInTheJobEndsIt) {
  FakeJob job(2);
  auto comm = Communicator::Create(job.group(0, "alone", {0}));
  ASSERT_TRUE(comm.ok()) << comm.status();
  job.Lose(1);
  EXPECT_EQ((*comm)->Barrier(), FakeJob::LossOf(1));
}

TEST(SerialTest, TheChoiceIsLogged) {
  std::vector<std::string> lines;
  SetLogSink([&](LogLevel level, absl::string_view line) {
    if (level == LogLevel::kInfo) lines.emplace_back(line);
  });
  FakeJob job(1);
  EXPECT_TRUE(Communicator::Create(job.world(0)).ok());
  SetLogSink(nullptr);
  EXPECT_THAT(lines, ::testing::ElementsAre(
                         AllOf(HasSubstr("backend serial"), HasSubstr("the group has one rank"))));
}

}  // namespace
}  // namespace muster
