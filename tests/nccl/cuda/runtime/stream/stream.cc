#include "tests/nccl/cuda/runtime/stream/stream.h"

#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "tests/nccl/cuda/fake_cuda.h"
#include "tests/nccl/cuda/runtime/context.h"
#include "tests/nccl/cuda/runtime/cuda_error.h"
#include "tests/nccl/cuda/runtime/failure.h"
#include "tests/nccl/cuda/runtime/stream/event.h"
#include "tests/nccl/cuda/runtime/stream/order.h"

namespace fake_cuda {
namespace {

struct Streams {
  std::mutex mutex;
  std::set<CUstream_st*> created;
  std::set<CUstream_st*> per_thread;
  std::map<int, CUstream_st*> defaults;  // by device
};

Streams& AllStreams() {
  static auto* const kStreams = new Streams();
  return *kStreams;
}

// Returns the default stream of the current device, and makes it at its first use.
CUstream_st* DefaultStream(Streams& streams) {
  CUstream_st*& stream = streams.defaults[CurrentDevice()];
  if (stream == nullptr) {
    stream = new CUstream_st{CurrentDevice(), cudaStreamDefault, 0, StreamQueue::Start(), {}};
  }
  return stream;
}

// The per-thread default streams of one thread. They end with the thread.
struct StreamsOfThread {
  std::map<int, CUstream_st*> by_device;

  ~StreamsOfThread() {
    const std::lock_guard<std::mutex> lock(AllStreams().mutex);
    for (const auto& [device, stream] : by_device) {
      AllStreams().per_thread.erase(stream);
      stream->queue->Close();
      delete stream;
    }
  }
};

CUstream_st* PerThreadStream(Streams& streams) {
  thread_local StreamsOfThread own;
  CUstream_st*& stream = own.by_device[CurrentDevice()];
  if (stream == nullptr) {
    stream = new CUstream_st{CurrentDevice(), cudaStreamDefault, 0, StreamQueue::Start(), {}};
    streams.per_thread.insert(stream);
  }
  return stream;
}

// Returns all streams of a device except the default one.
std::vector<CUstream_st*> StreamsOf(const Streams& streams, int device) {
  std::vector<CUstream_st*> found;
  for (const auto* set : {&streams.created, &streams.per_thread}) {
    for (CUstream_st* stream : *set) {
      if (stream->device == device) found.push_back(stream);
    }
  }
  return found;
}

bool IsDefault(const Streams& streams, const CUstream_st* stream) {
  const auto it = streams.defaults.find(stream->device);
  return it != streams.defaults.end() && it->second == stream;
}

std::vector<QueuePosition> ImplicitlyBefore(const Streams& streams, const CUstream_st* stream) {
  std::vector<QueuePosition> before;
  if (IsDefault(streams, stream)) {
    for (const CUstream_st* other : StreamsOf(streams, stream->device)) {
      if (other->flags != cudaStreamNonBlocking) before.push_back(other->last);
    }
  } else if (stream->flags != cudaStreamNonBlocking) {
    const auto it = streams.defaults.find(stream->device);
    if (it != streams.defaults.end()) before.push_back(it->second->last);
  }
  return before;
}

// Returns the work that is done before the next work of `stream`, which begins after `before`.
VectorClock ClockOf(const CUstream_st& stream, const std::vector<QueuePosition>& before) {
  VectorClock clock = HostClock();
  if (stream.last.clock != nullptr) clock.Add(*stream.last.clock);
  for (const QueuePosition& position : before) {
    if (position.clock != nullptr) clock.Add(*position.clock);
  }
  return clock;
}

}  // namespace

CUstream_st* FindStream(cudaStream_t handle) {
  Streams& streams = AllStreams();
  const std::lock_guard<std::mutex> lock(streams.mutex);
  if (handle == nullptr || handle == cudaStreamLegacy) return DefaultStream(streams);
  if (handle == cudaStreamPerThread) return PerThreadStream(streams);
  if (streams.created.count(handle) == 0) {
    Violation("a call names stream %p, which does not exist or has been destroyed",
              static_cast<void*>(handle));
  }
  return handle;
}

CUstream_st* CreateStream(unsigned flags, int priority) {
  auto* const stream = new CUstream_st{CurrentDevice(), flags, priority, StreamQueue::Start(), {}};
  const std::lock_guard<std::mutex> lock(AllStreams().mutex);
  AllStreams().created.insert(stream);
  return stream;
}

bool DestroyStream(CUstream_st* stream) {
  {
    const std::lock_guard<std::mutex> lock(AllStreams().mutex);
    if (AllStreams().created.erase(stream) == 0) return false;
  }
  stream->queue->Close();
  delete stream;
  return true;
}

QueuePosition Enqueue(CUstream_st* stream, std::function<void()> work,
                      const std::vector<QueuePosition>& others,
                      const std::vector<Access>& accesses) {
  Streams& streams = AllStreams();
  const std::lock_guard<std::mutex> lock(streams.mutex);
  std::vector<QueuePosition> before = ImplicitlyBefore(streams, stream);
  before.insert(before.end(), others.begin(), others.end());
  VectorClock clock = ClockOf(*stream, before);
  const uint64_t number = stream->queue->Submit([before, work = std::move(work)] {
    for (const QueuePosition& position : before) position.Await();
    if (Failure() == cudaSuccess) work();
  });
  CheckOrder(accesses, stream->queue->id(), number, clock);
  clock.Add(stream->queue->id(), number);
  stream->last = {stream->queue, number, std::make_shared<VectorClock>(std::move(clock))};
  return stream->last;
}

void AwaitIdle(int device) {
  std::vector<QueuePosition> positions;
  {
    Streams& streams = AllStreams();
    const std::lock_guard<std::mutex> lock(streams.mutex);
    for (const CUstream_st* stream : StreamsOf(streams, device)) positions.push_back(stream->last);
    const auto it = streams.defaults.find(device);
    if (it != streams.defaults.end()) positions.push_back(it->second->last);
  }
  for (const QueuePosition& position : positions) position.AwaitFromHost();
}

void Launch(const std::vector<cudaStream_t>& streams, std::function<void()> kernel,
            const std::vector<Access>& accesses) {
  CUstream_st* const first = FindStream(streams[0]);
  std::vector<QueuePosition> before;
  for (size_t i = 1; i < streams.size(); ++i) {
    before.push_back(Enqueue(FindStream(streams[i]), [] {}));
  }
  if (const cudaError_t error = InjectedError("kernel"); error != cudaSuccess) {
    kernel = [error] { FailDevice(error); };
  }
  const QueuePosition done = Enqueue(first, std::move(kernel), before, accesses);
  for (size_t i = 1; i < streams.size(); ++i) Enqueue(FindStream(streams[i]), [] {}, {done});
}

QueuePosition LastWorkOf(cudaStream_t handle) {
  CUstream_st* const stream = FindStream(handle);
  const std::lock_guard<std::mutex> lock(AllStreams().mutex);
  return stream->last;
}

int64_t LiveStreams() {
  Streams& streams = AllStreams();
  const std::lock_guard<std::mutex> lock(streams.mutex);
  return static_cast<int64_t>(streams.created.size());
}

}  // namespace fake_cuda
