// Tests of collectives on shared memory, without Gloo: between threads, and between processes that
// are killed.

#include "client/gloo/node_memory/shared_collectives.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "client/gloo/endings/exception.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::internal {
namespace {

// Memory that forks of this process share with it.
class Memory {
 public:
  explicit Memory(size_t size)
      : size_(size),
        data_(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {}
  ~Memory() { munmap(data_, size_); }
  void* data() const { return data_; }

 private:
  const size_t size_;
  void* const data_;
};

// Ranks that are threads.
class Ranks {
 public:
  explicit Ranks(int size) : size_(size), memory_(SharedLayout(size).total) {}

  void StartAt(uint32_t step) { StepSequencer::StartAt(step, memory_.data(), size_); }
  void Stop() { stopped_ = true; }

  void Run(const std::function<void(int rank, SharedCollectives& collectives)>& body) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size_; ++rank) {
      threads.emplace_back([&, rank] {
        SharedCollectives collectives(memory_.data(), rank, size_,
                                      [this](bool) { return stopped_.load(); });
        body(rank, collectives);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

 private:
  const int size_;
  const Memory memory_;
  std::atomic<bool> stopped_{false};
};

const Reduction kSumOfInts(DataType::kInt32, ReduceOp::kSum);

int32_t ValueOf(int rank, size_t i, uint64_t salt) {
  return static_cast<int32_t>(i * 2654435761u + rank * 40503u + salt * 97);
}
std::vector<int32_t> ValuesOf(int rank, size_t count, uint64_t salt) {
  std::vector<int32_t> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = ValueOf(rank, i, salt);
  return values;
}
std::vector<int32_t> SumOf(int ranks, size_t count, uint64_t salt) {
  std::vector<int32_t> sum(count);
  for (size_t i = 0; i < count; ++i) {
    uint32_t all = 0;
    for (int rank = 0; rank < ranks; ++rank) all += ValueOf(rank, i, salt);
    sum[i] = static_cast<int32_t>(all);
  }
  return sum;
}
size_t BytesOf(const std::vector<int32_t>& values) { return values.size() * sizeof(int32_t); }

// Each of these runs a collective on one rank, and returns whether the result is right. `tag` also
// is the number of the collective.
bool AllReduceIsRight(SharedCollectives& c, int rank, int ranks, size_t count, uint64_t tag) {
  std::vector<int32_t> data = ValuesOf(rank, count, tag);
  c.AllReduce(tag, data.data(), data.data(), BytesOf(data), kSumOfInts);
  return data == SumOf(ranks, count, tag);
}
bool ReduceIsRight(SharedCollectives& c, int rank, int ranks, size_t count, uint64_t tag) {
  const int root = static_cast<int>(tag) % ranks;
  const std::vector<int32_t> in = ValuesOf(rank, count, tag);
  std::vector<int32_t> out(rank == root ? count : 0);
  c.Reduce(tag, in.data(), out.data(), BytesOf(in), kSumOfInts, root);
  return rank != root || out == SumOf(ranks, count, tag);
}
bool BroadcastIsRight(SharedCollectives& c, int rank, int ranks, size_t count, uint64_t tag) {
  const int root = static_cast<int>(tag) % ranks;
  std::vector<int32_t> data = ValuesOf(rank, count, tag);
  c.Broadcast(tag, data.data(), BytesOf(data), root);
  return data == ValuesOf(root, count, tag);
}
bool AllGatherIsRight(SharedCollectives& c, int rank, int ranks, size_t count, uint64_t tag) {
  std::vector<size_t> parts;
  std::vector<int32_t> expected;
  for (int peer = 0; peer < ranks; ++peer) {
    const size_t theirs = tag % 2 == 0 ? count : count * peer / 2;
    const std::vector<int32_t> values = ValuesOf(peer, theirs, tag);
    expected.insert(expected.end(), values.begin(), values.end());
    parts.push_back(theirs * sizeof(int32_t));
  }
  const std::vector<int32_t> in = ValuesOf(rank, parts[rank] / sizeof(int32_t), tag);
  std::vector<int32_t> out(expected.size());
  c.AllGather(tag, in.data(), parts, out.data());
  return out == expected;
}
bool ReduceScatterIsRight(SharedCollectives& c, int rank, int ranks, size_t count, uint64_t tag) {
  const std::vector<int32_t> in = ValuesOf(rank, count * ranks, tag);
  std::vector<int32_t> out(count);
  c.ReduceScatter(tag, in.data(), out.data(), BytesOf(out), kSumOfInts);
  const std::vector<int32_t> all = SumOf(ranks, count * ranks, tag);
  return std::equal(out.begin(), out.end(), all.begin() + count * rank);
}
bool BarrierIsRight(SharedCollectives& c, int, int, size_t, uint64_t tag) {
  c.Barrier(tag);
  return true;
}
// Returns three pieces for each rank, in turns. Some of them are empty.
std::vector<Pieces> PiecesInTurns(int ranks, size_t count) {
  std::vector<Pieces> pieces(ranks);
  size_t offset = 0;
  for (int i = 0; i < 3 * ranks; ++i) {
    const size_t bytes = count * (i % 4) / 2 * sizeof(int32_t);
    pieces[i % ranks].push_back({offset, bytes});
    offset += bytes;
  }
  return pieces;
}
size_t CountIn(const std::vector<Pieces>& pieces) {
  const Piece& last = pieces.back().back();
  return (last.offset + last.bytes) / sizeof(int32_t);
}
// A rank provides its own pieces only when they are asked for.
bool SpreadIsRight(SharedCollectives& c, int rank, int ranks, size_t count, uint64_t tag) {
  const std::vector<Pieces> pieces = PiecesInTurns(ranks, count);
  const std::vector<int32_t> expected = ValuesOf(0, CountIn(pieces), tag);
  std::vector<int32_t> data(expected.size());
  const auto* const from = reinterpret_cast<const char*>(expected.data());
  auto* const to = reinterpret_cast<char*>(data.data());
  c.SpreadPieces(tag, data.data(), pieces, [&](size_t end) {
    for (const Piece& piece : pieces[rank]) {
      const size_t bytes = std::min(piece.bytes, end);
      std::copy_n(from + piece.offset, bytes, to + piece.offset);
      end -= bytes;
    }
  });
  return data == expected;
}
// Reduces in place, and checks that the pieces which are announced are complete.
bool ReducePiecesIsRight(SharedCollectives& c, int rank, int ranks, size_t count, uint64_t tag) {
  const std::vector<Pieces> pieces = PiecesInTurns(ranks, count);
  const std::vector<int32_t> expected = SumOf(ranks, CountIn(pieces), tag);
  std::vector<int32_t> data = ValuesOf(rank, expected.size(), tag);
  auto* const bytes_of = reinterpret_cast<char*>(data.data());
  std::vector<char*> results;
  for (const Piece& piece : pieces[rank]) results.push_back(bytes_of + piece.offset);
  bool right = true;
  const auto check = [&](size_t end) {
    for (const Piece& piece : pieces[rank]) {
      const size_t bytes = std::min(piece.bytes, end);
      right &=
          std::memcmp(bytes_of + piece.offset,
                      reinterpret_cast<const char*>(expected.data()) + piece.offset, bytes) == 0;
      end -= bytes;
    }
  };
  c.ReducePieces(tag, data.data(), pieces, results, kSumOfInts, check);
  check(SIZE_MAX);
  return right;
}

using Check = bool (*)(SharedCollectives&, int rank, int ranks, size_t count, uint64_t tag);
constexpr Check kChecks[] = {&AllReduceIsRight, &ReduceIsRight,        &BroadcastIsRight,
                             &AllGatherIsRight, &ReduceScatterIsRight, &BarrierIsRight,
                             &SpreadIsRight,    &ReducePiecesIsRight};

class SharedCollectivesTest : public ::testing::TestWithParam<int> {
 protected:
  const int ranks_ = GetParam();
  Ranks all_{ranks_};
};

TEST_P(SharedCollectivesTest, SizesAroundTheSlotSize) {
  const size_t chunk = SharedLayout(ranks_).chunk / sizeof(int32_t);
  const size_t slice = chunk / ranks_;
  const size_t counts[] = {1, 15, 17, slice - 1, slice, slice + 1, chunk + 1, 3 * chunk + 5};
  all_.Run([&](int rank, SharedCollectives& c) {
    uint64_t tag = 0;
    for (const size_t count : counts) {
      for (const Check check : kChecks) {
        ++tag;
        EXPECT_TRUE(check(c, rank, ranks_, count, tag)) << "rank " << rank << ", number " << tag;
      }
    }
  });
}

// Lets ranks run ahead of others by as much as they may.
void RunAtRandom(Ranks& all, int ranks) {
  constexpr int kOperations = 150;
  all.Run([&](int rank, SharedCollectives& c) {
    std::mt19937 same(17), own(rank);
    for (int tag = 1; tag <= kOperations; ++tag) {
      const Check check = kChecks[same() % std::size(kChecks)];
      const size_t count = 1 + same() % (same() % 8 == 0 ? 40'000 : 400);
      for (unsigned i = own() % 8; i > 5; --i) std::this_thread::yield();
      ASSERT_TRUE(check(c, rank, ranks, count, tag)) << "rank " << rank << ", number " << tag;
    }
  });
}

TEST_P(SharedCollectivesTest, AnyOrderOfOperations) { RunAtRandom(all_, ranks_); }

TEST_P(SharedCollectivesTest, StepNumbersWrapAround) {
  all_.StartAt(0u - 64);
  RunAtRandom(all_, ranks_);
}

// The order is the ranks' order, in whatever slice or chunk an element is.
TEST_P(SharedCollectivesTest, FloatsAreReducedInTheOrderOfTheRanks) {
  for (const size_t count : {size_t{7}, size_t{5'003}, size_t{200'003}}) {
    const auto value = [](int rank, size_t i) {
      return 1.0f / static_cast<float>(1 + i % 1009 + 31 * rank);
    };
    std::vector<float> expected(count);
    for (size_t i = 0; i < count; ++i) {
      expected[i] = value(0, i);
      for (int rank = 1; rank < ranks_; ++rank) expected[i] += value(rank, i);
    }
    const size_t bytes = count * sizeof(float);
    Ranks(ranks_).Run([&](int rank, SharedCollectives& c) {
      std::vector<float> data(count);
      for (size_t i = 0; i < count; ++i) data[i] = value(rank, i);
      c.AllReduce(count, data.data(), data.data(), bytes, {DataType::kFloat32, ReduceOp::kSum});
      EXPECT_EQ(std::memcmp(data.data(), expected.data(), bytes), 0) << rank;
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, SharedCollectivesTest, ::testing::Values(2, 3, 4, 5, 8),
                         ::testing::PrintToStringParamName());

TEST(SharedLayoutTest, HasRoomForAllParts) {
  for (int ranks = 2; ranks <= StepSequencer::kMaxRanks; ++ranks) {
    const SharedLayout layout(ranks);
    EXPECT_EQ(layout.chunk % (size_t{64} * ranks), 0u);
    EXPECT_GE(layout.results * ranks, layout.chunk);
    EXPECT_LE(layout.chunk + layout.results, layout.slot);
    EXPECT_LE(layout.sequencer + layout.slot * ranks * StepSequencer::kSlots, layout.total);
    EXPECT_LE(layout.total, ranks <= 64 ? size_t{12} << 20 : size_t{25} << 20) << ranks;
  }
}

// ---- Ends of waits ----

TEST(WaitTest, IsInterruptedAndNamesTheLateRanks) {
  Ranks all(4);
  all.Run([&](int rank, SharedCollectives& c) {
    c.Barrier(1);
    if (rank == 3) all.Stop();  // while rank 3 holds its end back
    if (rank == 3) return;
    try {
      std::vector<int32_t> data(1000);
      c.AllReduce(2, data.data(), data.data(), 4000, kSumOfInts);
      ADD_FAILURE() << "rank 3 was not there";
    } catch (const Interrupted& interrupted) {
      EXPECT_THAT(interrupted.awaited(), ::testing::Contains(3));
    } catch (const PeerEnded&) {  // rank 3 was faster
    }
  });
}

TEST(WaitTest, EndsWhenAnAwaitedRankEnds) {
  Ranks all(3);
  all.Run([&](int rank, SharedCollectives& c) {
    c.Barrier(1);
    if (rank == 1) return;
    EXPECT_THROW(c.Barrier(2), PeerEnded);
  });
}

TEST(WaitTest, ContinuesWhenARankEndsThatHasDoneItsPart) {
  Ranks all(3);
  std::atomic<bool> ended{false};
  all.Run([&](int rank, SharedCollectives& c) {
    std::vector<int32_t> data(1000, rank + 1);
    if (rank == 0) {
      c.Broadcast(1, data.data(), BytesOf(data), 0);
      ended = true;
      return;
    }
    while (!ended) std::this_thread::yield();
    c.Broadcast(1, data.data(), BytesOf(data), 0);
    EXPECT_EQ(data[999], 1);
  });
}

// A rank must not take the data of another call for what it waits for.
TEST(WaitTest, RanksWithDifferentTagsWaitForEachOther) {
  Ranks all(3);
  std::atomic<int> waiting{0};
  all.Run([&](int rank, SharedCollectives& c) {
    std::vector<int32_t> data(rank == 1 ? 7 : 1000, rank);
    if (++waiting == 3) all.Stop();
    try {
      c.AllReduce(rank == 1 ? 7 : 8, data.data(), data.data(), BytesOf(data), kSumOfInts);
      ADD_FAILURE() << rank;
    } catch (const Interrupted&) {
    } catch (const PeerEnded&) {
    }
    EXPECT_EQ(data, std::vector<int32_t>(data.size(), rank));
  });
}

// ---- Processes that are killed ----

// The children's report to the test.
struct Control {
  std::atomic<bool> stopped{false};
  std::atomic<int> operations{0};
};

// Ranks from 1 on are child processes, which run one collective after another until they are
// stopped.
class KilledRankTest : public ::testing::Test {
 protected:
  static constexpr int kRanks = 4;
  static constexpr int kWrong = 3;

  KilledRankTest() : control_(new (shared_.data()) Control()) {}

  [[noreturn]] void RunChild(int rank) {
    alarm(60);
    int code = 0;
    try {
      SharedCollectives c(memory_.data(), rank, kRanks,
                          [this](bool) { return control_->stopped.load(); });
      for (uint64_t tag = 1; code == 0; ++tag) {
        const Check check = kChecks[tag % std::size(kChecks)];
        const size_t count = tag % 5 == 0 ? 100'000 : 100 + tag % 900;
        if (!check(c, rank, kRanks, count, tag)) code = kWrong;
        if (rank == 0) ++control_->operations;
      }
    } catch (const Interrupted&) {
    } catch (const PeerEnded&) {
    }
    _exit(code);
  }

  static int ExitOf(pid_t child) {
    int status = -1;
    waitpid(child, &status, 0);
    return status;
  }

  const Memory memory_{SharedLayout(kRanks).total};
  const Memory shared_{sizeof(Control)};
  Control* const control_;
};

TEST_F(KilledRankTest, LeavesTheOthersWithCorrectResultsUntilTheyStop) {
  std::mt19937 random(23);
  for (int round = 0; round < 25; ++round) {
    std::memset(memory_.data(), 0, SharedLayout(kRanks).total);
    control_->stopped = false;
    control_->operations = 0;
    std::vector<pid_t> children;
    for (int rank = 0; rank < kRanks; ++rank) {
      const pid_t child = fork();
      if (child == 0) RunChild(rank);
      children.push_back(child);
    }
    const int until = 1 + static_cast<int>(random() % 50);
    while (control_->operations < until) std::this_thread::yield();
    for (unsigned i = random() % 100'000; i > 0; --i) asm volatile("");
    const int killed = static_cast<int>(random() % kRanks);
    kill(children[killed], SIGKILL);
    EXPECT_EQ(ExitOf(children[killed]), SIGKILL);
    control_->stopped = true;  // as the job would announce it
    for (int rank = 0; rank < kRanks; ++rank) {
      if (rank == killed) continue;
      EXPECT_EQ(ExitOf(children[rank]), 0) << round << ", rank " << rank;
    }
  }
}

}  // namespace
}  // namespace muster::internal
