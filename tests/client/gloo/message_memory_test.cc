// Tests that memory which Gloo's thread may still access is not freed. If a collective over several
// nodes ends in the middle, it must keep the memory of its messages until their buffers are gone.

#include <malloc.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "client/gloo/connections/interrupter.h"
#include "client/gloo/node_memory/node_layout.h"
#include "client/gloo/node_memory/node_memory.h"
#include "client/gloo/planes/two_level_plane.h"
#include "client/src/node/shared_region.h"
#include "gloo/context.h"
#include "gloo/transport/context.h"
#include "gloo/transport/pair.h"
#include "gloo/transport/unbound_buffer.h"
#include "gtest/gtest.h"

namespace muster::internal {
namespace {

// The memory of all buffers that exist. Allocates nothing, since operator delete asks it.
class BuffersInUse {
 public:
  void Add(const char* begin, size_t size) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (Range& range : ranges_) {
      if (range.begin != nullptr) continue;
      range = {begin, size};
      ++added_;
      return;
    }
    std::abort();
  }
  void Remove(const char* begin) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (Range& range : ranges_) {
      if (range.begin != begin) continue;
      range = {};
      return;
    }
  }
  void NoteFreed(const char* begin, size_t size) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const Range& range : ranges_) {
      if (range.begin == nullptr) continue;
      if (range.begin < begin + size && begin < range.begin + range.size) ++freed_;
    }
  }

  // Return how many buffers there have been, and how many outlived their memory.
  int added() const { return added_; }
  int freed() const { return freed_; }

 private:
  struct Range {
    const char* begin = nullptr;
    size_t size = 0;
  };
  std::mutex mutex_;
  std::array<Range, 64> ranges_;
  int added_ = 0;
  int freed_ = 0;
};

BuffersInUse& InUse() {
  static BuffersInUse in_use;
  return in_use;
}

// A message that is never received. Waiting for it fails, as on a broken connection.
class BrokenMessage final : public gloo::transport::UnboundBuffer {
 public:
  BrokenMessage(void* data, size_t bytes) : UnboundBuffer(data, bytes) {
    InUse().Add(static_cast<const char*>(data), bytes);
  }
  ~BrokenMessage() override { InUse().Remove(static_cast<const char*>(ptr)); }

  bool waitRecv(int* /*rank*/, std::chrono::milliseconds /*timeout*/) override {
    throw std::runtime_error("the connection broke");
  }
  bool waitSend(int* /*rank*/, std::chrono::milliseconds /*timeout*/) override { return true; }
  void abortWaitRecv() override {}
  void abortWaitSend() override {}
  void send(int, uint64_t, size_t, size_t) override {}
  void recv(int, uint64_t, size_t, size_t) override {}
  void recv(std::vector<int>, uint64_t, size_t, size_t) override {}
};

class BrokenTransport final : public gloo::transport::Context {
 public:
  using Context::Context;
  std::unique_ptr<gloo::transport::Pair>& createPair(int) override { std::abort(); }
  std::unique_ptr<gloo::transport::UnboundBuffer> createUnboundBuffer(void* data,
                                                                      size_t bytes) override {
    return std::make_unique<BrokenMessage>(data, bytes);
  }
};

class BrokenContext final : public gloo::Context {
 public:
  BrokenContext(int rank, int size) : Context(rank, size) {
    transportContext_ = std::make_shared<BrokenTransport>(rank, size);
  }
};

// Ranks 0 and 1 share a node. Ranks 2 and 3 share another one, from which no message comes.
constexpr int kRanks = 4;
constexpr int kHere = 2;

Operation OperationOf(OperationKind kind, size_t count) {
  Operation operation;
  operation.kind = kind;
  operation.count = count;
  operation.type = DataType::kInt32;
  operation.number = 1;
  return operation;
}

using Collective = std::function<void(TwoLevelPlane& plane, const void* in, void* out)>;

void RunOnOneNode(size_t elements, const Collective& collective) {
  const std::string name = SharedRegion::NewName();
  const size_t size = SharedLayout(kHere).total;
  std::vector<std::unique_ptr<SharedRegion>> regions;
  regions.push_back(SharedRegion::Make(name, size).value());
  regions.push_back(SharedRegion::Open(name, size).value());
  Interrupter interrupter;
  EXPECT_EQ(interrupter.Start("rank 0"), absl::OkStatus());
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < kHere; ++rank) {
    ranks.emplace_back([&, rank] {
      const std::shared_ptr<gloo::Context> context = std::make_shared<BrokenContext>(rank, kRanks);
      TwoLevelPlane plane(
          NodeLayout({"here", "here", "there", "there"}), rank, context,
          std::make_unique<NodeMemory>(std::move(regions[rank]), std::vector<int>{0, 1}, rank,
                                       &interrupter, [] {}));
      const std::vector<int32_t> in(elements);
      std::vector<int32_t> out(elements);
      try {
        collective(plane, in.data(), out.data());
      } catch (const std::exception&) {
        interrupter.Raise(absl::UnavailableError("a connection broke"));
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

void ExpectMemoryIsKept(size_t elements, const Collective& collective) {
  const int added = InUse().added();
  const int freed = InUse().freed();
  RunOnOneNode(elements, collective);
  EXPECT_GT(InUse().added(), added);
  EXPECT_EQ(InUse().freed(), freed);
}

constexpr size_t kFew = 10;
constexpr size_t kMany = 1 << 20;

TEST(MessageMemoryTest, AllReduceOfFewElements) {
  ExpectMemoryIsKept(kFew, [](TwoLevelPlane& plane, const void* in, void* out) {
    plane.AllReduce(OperationOf(OperationKind::kAllReduce, kFew), in, out);
  });
}

TEST(MessageMemoryTest, AllReduceOfManyElements) {
  ExpectMemoryIsKept(kMany, [](TwoLevelPlane& plane, const void* in, void* out) {
    plane.AllReduce(OperationOf(OperationKind::kAllReduce, kMany), in, out);
  });
}

TEST(MessageMemoryTest, ReduceScatter) {
  ExpectMemoryIsKept(kMany * kRanks, [](TwoLevelPlane& plane, const void* in, void* out) {
    plane.ReduceScatter(OperationOf(OperationKind::kReduceScatter, kMany), in, out);
  });
}

TEST(MessageMemoryTest, Reduce) {
  ExpectMemoryIsKept(kMany, [](TwoLevelPlane& plane, const void* in, void* out) {
    plane.Reduce(OperationOf(OperationKind::kReduce, kMany), in, out);
  });
}

TEST(MessageMemoryTest, Barrier) {
  ExpectMemoryIsKept(1, [](TwoLevelPlane& plane, const void*, void*) {
    plane.Barrier(OperationOf(OperationKind::kBarrier, 0));
  });
}

}  // namespace
}  // namespace muster::internal

// All deletes of this program come here.
void operator delete(void* memory) noexcept {
  if (memory == nullptr) return;
  muster::internal::InUse().NoteFreed(static_cast<const char*>(memory), malloc_usable_size(memory));
  std::free(memory);
}
void operator delete[](void* memory) noexcept { operator delete(memory); }
void operator delete(void* memory, size_t) noexcept { operator delete(memory); }
void operator delete[](void* memory, size_t) noexcept { operator delete(memory); }
void* operator new(size_t size) {
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void* operator new[](size_t size) { return operator new(size); }
