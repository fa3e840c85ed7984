// A rank of a job in C++ over muster/c.h. Makes every call of muster/portable.h and checks the
// results. Includes nothing but that header and the C++ library.
#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "muster/portable.h"

namespace {

using namespace muster::portable;

constexpr int kRanks = 3;

[[noreturn]] void Fail(int line, const std::string& why) {
  std::fprintf(stderr, "rank.cc:%d: %s\n", line, why.c_str());
  std::exit(1);
}

#define CHECK(condition) \
  if (!(condition)) Fail(__LINE__, "not so: " #condition)

// Returns the value of a call that must succeed.
template <class T>
T Must(Result<T> result) {
  return OrDie(std::move(result));
}
void Must(const Status& status) { OrDie(status); }

void Fails(const Status& status, Code code, const std::string& words, int line) {
  const bool expected =
      status.code() == code && std::string_view(status.message()).find(words) != std::string::npos;
  if (!expected) Fail(line, status.ToString() + ", expected " + NameOf(code) + ": " + words);
}
#define FAILS(call, code, words) Fails(call, code, words, __LINE__)

struct Shape {
  int32_t width;
  int32_t height;
};
enum class Color : uint8_t { kRed, kBlue };

void Values(Job& job) {
  const int rank = job.rank();
  CHECK(Must(job.Broadcast(rank, 2)) == 2);
  CHECK(Must(job.Broadcast(Shape{rank, 7}, 1)).width == 1);
  CHECK(Must(job.Broadcast(rank == 0 ? Color::kBlue : Color::kRed)) == Color::kBlue);
  CHECK(Must(job.Broadcast(rank == 0 ? "apples" : "")) == "apples");
  CHECK(Must(job.Broadcast(std::string(static_cast<size_t>(rank), 'x'), 2)) == "xx");
  CHECK(Must(job.AllGather(rank)) == (std::vector<int>{0, 1, 2}));
  CHECK(Must(job.AllGather(std::to_string(rank)))[2] == "2");
  CHECK(Must(job.Gather(0.5 * rank, 1)).size() == (rank == 1 ? kRanks : 0));
  const std::string_view mine = std::string_view("abc").substr(0, static_cast<size_t>(rank) + 1);
  const std::vector<std::string> texts = Must(job.Gather(mine, 1));
  CHECK(rank != 1 || texts == (std::vector<std::string>{"a", "ab", "abc"}));
  CHECK(rank == 1 || texts.empty());
  CHECK(Must(job.AllReduce(rank)) == 3);
  CHECK(Must(job.AllReduce(0.5 * rank, ReduceOp::kMax)) == 1.0);
  CHECK(Must(job.AllReduce(rank == 1, ReduceOp::kBitwiseOr)));
  FAILS(job.AllReduce(true).status(), Code::kUnimplemented, "no sum of bool");
}

void ArraysInPlace(Job& job) {
  const int rank = job.rank();
  std::array<int64_t, 2> counts = {1, rank};
  Must(job.AllReduce(Span(counts)));
  CHECK(counts[0] == kRanks && counts[1] == 3);
  char id[128] = {static_cast<char>(rank == 1 ? 'x' : '-')};
  Must(job.Broadcast(Span(id), 1));
  CHECK(id[0] == 'x');
  const std::vector<Shape> mine = {{rank, 0}, {rank, 1}};
  std::vector<Shape> all(mine.size() * kRanks);
  Must(job.AllGather(mine, Span(all)));
  CHECK(all[5].width == 2 && all[5].height == 1);
  std::vector<Shape> at_root(rank == 0 ? all.size() : 0);
  Must(job.Gather(mine, Span(at_root), 0));
  CHECK(rank != 0 || at_root[2].width == 1);
  FAILS(job.AllGather(mine, Span(all.data(), 5)), Code::kInvalidArgument,
        "'all' has 5 elements, expected 2 for each of 3 ranks");
}

void Groups(Job& job) {
  const int rank = job.rank();
  Group part = *Must(job.Split(rank % 2, -rank));
  CHECK(part.ranks() == (rank == 1 ? std::vector<int>{1} : std::vector<int>{2, 0}));
  CHECK(part.size() == (rank == 1 ? 1 : 2) && part.rank() == (rank == 0 ? 1 : 0));
  CHECK(Must(part.AllReduce(rank)) == (rank == 1 ? 1 : 2));
  const bool taken = Must(job.Split(rank == 1 ? std::nullopt : std::optional<int>(0))).has_value();
  CHECK(taken == (rank != 1));
  Result<Group> ends = job.NewGroup("ends", {2, 0});
  CHECK(ends.ok() == (rank != 1));
  if (ends.ok()) {
    Group moved = *std::move(ends);
    Must(moved.Barrier("the ends"));
  } else {
    FAILS(ends.status(), Code::kInvalidArgument, "does not include rank 1");
  }
  FAILS(job.NewGroup("empty", {}).status(), Code::kInvalidArgument, "'empty'");
  CHECK(job.world().size() == kRanks && job.world().rank() == rank);
}

void Leases(Job& job) {
  Lease index = Must(job.AcquireLease("index", LeaseScope::kJob));
  const int held = index.held() ? 1 : 0;
  if (index.held()) {
    CHECK(index.token() > 0);
    FAILS(index.result().status(), Code::kFailedPrecondition, "");
    Must(index.Complete("built"));
  } else {
    CHECK(*index.result() == "built");
  }
  CHECK(Must(job.AllReduce(held)) == 1);

  Lease download = Must(job.AcquireLease("download", LeaseScope::kJob));
  if (download.held()) {
    FAILS(download.Fail(Status()), Code::kInvalidArgument, "the code is 0");
    Must(download.Fail(Status(Code::kNotFound, "no such bucket")));
  } else {
    FAILS(download.result().status(), Code::kNotFound, "no such bucket");
  }
  Lease later = Must(job.AcquireLease("later", LeaseScope::kNode));
  if (later.held()) {
    later.Release();
    FAILS(later.Complete("x"), Code::kFailedPrecondition, "not held");
  }
}

void WorkForAll(Job& job) {
  const int rank = job.rank();
  size_t runs = 0;
  CHECK(Must(job.RunOnMain([&] { return std::string(++runs, 'x'); })) == "x");
  CHECK(runs == (rank == 0 ? 1u : 0u));
  CHECK(Must(job.RunOnRank(1, [&] { return Shape{rank, 2}; })).width == 1);
  Must(job.RunOnRank(2, [&] { ++runs; }));
  const Status refused = job.RunOnRank(2, [] { return Status(Code::kNotFound, "no such bucket"); });
  FAILS(refused, Code::kNotFound, "no such bucket");
  CHECK(refused.rank() == 2);

  int once = 0;
  CHECK(Must(job.RunOncePerJob("number", [&]() -> Result<int> { return ++once; })) == 1);
  CHECK(Must(job.AllReduce(once)) == 1);
  Must(job.RunOncePerNode("extract", [&] { ++once; }));
  CHECK(Must(job.AllReduce(once)) == 1 + job.num_nodes());
  FAILS(job.RunOncePerNode("fails", [] { return Status(Code::kDataLoss, "torn"); }),
        Code::kDataLoss, "torn");
#if defined(__cpp_exceptions)
  const auto throws = []() -> int { throw Error(Status(Code::kInternal, "thrown")); };
  FAILS(job.RunOnMain(throws).status(), Code::kInternal, "an exception: thrown");
  FAILS(job.RunOncePerJob("throws", throws).status(), Code::kInternal, "an exception: thrown");
#endif
}

void Members(Job& job) {
  const int rank = job.rank();
  const Member self = job.self();
  CHECK(self.rank == rank && self.local_rank == job.local_rank());
  CHECK(self.node_rank == job.node_rank() && !self.previous_rank.has_value());
  CHECK(self.node_id == job.node_id() && self.pid == getpid() && !self.hostname.empty());
  CHECK(job.members().size() == kRanks && job.members()[1].rank == 1);
  FAILS(job.member(-1).status(), Code::kInvalidArgument, "no rank -1");
  CHECK(job.is_distributed() && job.is_main() == (rank == 0) && job.NewcomersWaiting() == 0);
  CHECK(job.epoch() > 0 && !job.resumed() && !job.StopRequested() && !job.id().empty());
  Must(job.health());
  Must(job.AwaitFailure(std::chrono::milliseconds(0)));
}

// Ranks that disagree about the type of the bytes get an error.
void TypeNames(Job& job) {
  const Group typed = Must(job.NewGroup("typed", {0, 1, 2}));
  CallOptions options;
  options.type_name = job.rank() == 0 ? "pickle" : "json";
  FAILS(typed.AllGather("1", options).status(), Code::kFailedPrecondition, "pickle");
}

// Rank 1 comes first. Its error names the ranks that are missing.
void TimeOuts(Job& job) {
  const Group early = Must(job.NewGroup("early", {0, 1, 2}));
  if (job.rank() == 1) {
    const Status late = early.Barrier("late", {std::chrono::milliseconds(50)});
    FAILS(late, Code::kDeadlineExceeded, "missing 2 of 3");
  }
  Must(job.Barrier("now"));
  Must(early.Barrier("late"));
}

// Rank 0 gives up, and calls again.
void InTheBackground(Job& job) {
  const Group group = Must(job.NewGroup("background", {0, 1, 2}));
  Cancellation cancellation;
  if (job.rank() == 0) {
    PendingCalls meeting = Must(Start([&] { return group.Barrier("met", {{}, &cancellation}); }));
    pollfd ready = {meeting.fd(), POLLIN, 0};
    CHECK(poll(&ready, 1, 20) == 0 && !meeting.done());
    cancellation.Cancel();
    CHECK(poll(&ready, 1, 60000) == 1 && meeting.done());
    FAILS(meeting.Wait(), Code::kCancelled, "");
    const PendingCalls moved = std::move(meeting);
    FAILS(moved.Wait(), Code::kCancelled, "");
  }
  Must(job.Barrier("given up"));
  Must(Must(Start([&] { return group.Barrier("met"); })).Wait());
}

void Arrays(Job& job) {
  const int rank = job.rank();
  CommunicatorOptions options;
  options.backend = "gloo";
  Communicator ranks = Must(Communicator::Create(job, options));
  CHECK(ranks.rank() == rank && ranks.size() == kRanks && ranks.backend() == "gloo");
  std::vector<float> sum = {static_cast<float>(rank), 1};
  Must(ranks.AllReduce(Span(sum)));
  CHECK(sum == (std::vector<float>{3, 3}));
  const std::vector<float> in = {1.5f * static_cast<float>(rank), 0};
  Must(ranks.AllReduce(in, Span(sum), ReduceOp::kMax));
  CHECK(sum[0] == 3);
  std::vector<float> ones = {1, 1, 1};
  Must(ranks.AllReduceCoalesced<float>({Span(ones.data(), 2), Span(ones.data() + 2, 1)}));
  CHECK(ones == (std::vector<float>{kRanks, kRanks, kRanks}));
  Must(ranks.Broadcast(Span(sum), 1));
  std::vector<float> weights = {static_cast<float>(rank), 1};
  std::array<float, 1> bias = {2};
  Must(ranks.AllReduceCoalesced<float>({Span(weights), Span(bias)}, ReduceOp::kMax));
  CHECK(weights[0] == 2 && weights[1] == 1 && bias[0] == 2);
  Must(ranks.AllReduceCoalesced<float>({}));

  std::vector<int> own = {rank};
  std::vector<int> most(rank == 2 ? 1 : 0);
  Must(ranks.Reduce(own, Span(most), ReduceOp::kMax, 2));
  CHECK(rank != 2 || most[0] == 2);
  const std::array<int, 2> mine = {10 * rank, 10 * rank + 1};
  std::array<int, 6> all = {};
  Must(ranks.AllGather(mine, Span(all)));
  CHECK(all[3] == 11 && all[4] == 20);
  std::array<int, 3> parts = {};
  const size_t counts[] = {1, 0, 2};
  const Span<const int> uneven(mine.data(), counts[rank]);
  Must(ranks.AllGatherUneven(uneven, Span(parts), counts));
  CHECK(parts[0] == 0 && parts[2] == 21);
  Must(ranks.ReduceScatter(all, Span(parts.data(), 2)));
  CHECK(parts[0] == 30 * rank && parts[1] == 30 * rank + 3);
  const std::array<int, 3> out = {10 * rank, 10 * rank + 1, 10 * rank + 2};
  Must(ranks.AllToAll(out, Span(parts)));
  CHECK(parts[0] == rank && parts[2] == 20 + rank);

  int before = -1;
  Must(ranks.SendRecv(own, (rank + 1) % kRanks, Span(&before, 1), (rank + 2) % kRanks));
  CHECK(before == (rank + 2) % kRanks);
  if (rank == 0) Must(ranks.Send(Span(mine), 2));
  if (rank == 2) Must(ranks.Recv(Span(parts.data(), 2), 0));
  CHECK(rank != 2 || parts[1] == 1);
  Must(ranks.Barrier());

  FAILS(ranks.AllReduce(in, Span(sum.data(), 1)), Code::kInvalidArgument,
        "'in' has 2 elements, and 'out' has 1");
  FAILS(ranks.AllGather(mine, Span(all.data(), 5)), Code::kInvalidArgument, "'out' has 5");
  FAILS(ranks.AllGatherUneven(mine, Span(parts.data(), 1), counts), Code::kInvalidArgument,
        "'counts'");
  FAILS(ranks.ReduceScatter(all, Span(all)), Code::kInvalidArgument, "'in' has 6");
  std::array<int, 2> two = {};
  FAILS(ranks.AllToAll(mine, Span(two)), Code::kInvalidArgument, "'in' has 2");
  Communicator moved = std::move(ranks);
  Must(moved.Barrier());
  FAILS(ranks.Barrier(), Code::kInvalidArgument, "'communicator' is NULL");
}

void Everything(Job& job) {
  Values(job);
  ArraysInPlace(job);
  Groups(job);
  Leases(job);
  WorkForAll(job);
  Members(job);
  TypeNames(job);
  TimeOuts(job);
  InTheBackground(job);
  Arrays(job);
  if (job.rank() == 0) Must(job.RequestStop());
  Must(job.Barrier("requested"));
  Must(job.Barrier("seen"));
  CHECK(job.StopRequested());
  std::printf("rank %d of %d, local %d of %d, node %d of %d\n", job.rank(), job.world_size(),
              job.local_rank(), job.local_world_size(), job.node_rank(), job.num_nodes());
}

// Rank 1 ends without a word. The other ranks are told, and see it in every call.
void Loss(Job& job) {
  if (job.rank() == 1) std::abort();
  std::atomic<int> lost = -1;
  Status kept;
  Subscription subscription = Must(job.OnFailure([&](const Status& status) {
    kept = status;
    lost = status.rank().value_or(-1);
  }));
  FAILS(job.AwaitFailure(std::chrono::seconds(60)), Code::kAborted, "rank 1 (");
  while (lost < 0) usleep(1000);
  subscription.Reset();
  CHECK(lost == 1 && kept.exit_code() == job.health().exit_code());
  CHECK(kept.node() == job.members()[1].node_id && kept.pid() == job.members()[1].pid);
  CHECK(std::string_view(kept.cause()).rfind("its connection ended", 0) == 0);
  CHECK(kept.missing_ranks() == std::vector<int>{1});
  OrDie(job.Barrier("step 1"));
}

// Rank 1 ends without a word. The other ranks go on without it.
void Elastic(Job& job) {
  if (job.rank() == 1) std::abort();
  const uint64_t before = job.epoch();
  const Group old = job.world();
  FAILS(job.Barrier("step 1"), Code::kAborted, "rank 1 (");
  Must(job.Rejoin());
  CHECK(job.world_size() == 2 && job.resumed() && job.epoch() > before);
  CHECK(job.self().previous_rank == (job.rank() == 0 ? 0 : 2));
  FAILS(old.Barrier("step 1"), Code::kAborted, "");
  CHECK(Must(job.AllReduce(1)) == 2);
}

}  // namespace

int main(int argc, char** argv) {
  Job job = OrDie(Job::Join(JobOptions::FromEnvironment()));
  const std::string_view mode = argc > 1 ? argv[1] : "everything";
  if (mode == "everything") Everything(job);
  if (mode == "loss") Loss(job);
  if (mode == "elastic") Elastic(job);
  const Status left = job.Leave();
  if (!left.ok()) std::fprintf(stderr, "%s\n", left.message());
  return left.exit_code();
}
