#include "tests/nccl/cuda/runtime/stream.h"

#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "tests/nccl/cuda/runtime/device.h"
#include "tests/nccl/cuda/runtime/error.h"
#include "tests/nccl/cuda/runtime/event.h"
#include "tests/nccl/cuda/runtime/order.h"
#include "tests/nccl/cuda/fake_cuda.h"

namespace fake_cuda {
namespace {

struct Streams {
  std::mutex mutex;
  std::set<CUstream_st*> created;
  std::map<int, CUstream_st*> defaults;  // by device
};

Streams& AllStreams() {
  static auto* const kStreams = new Streams();
  return *kStreams;
}

// Of the current device, made at first use.
CUstream_st* DefaultStream(Streams& streams) {
  CUstream_st*& stream = streams.defaults[CurrentDevice()];
  if (stream == nullptr) {
    stream = new CUstream_st{CurrentDevice(), cudaStreamDefault, Timeline::Start(), {}};
  }
  return stream;
}

bool IsDefault(const Streams& streams, const CUstream_st* stream) {
  const auto it = streams.defaults.find(stream->device);
  return it != streams.defaults.end() && it->second == stream;
}

std::vector<Mark> ImplicitlyBefore(const Streams& streams, const CUstream_st* stream) {
  std::vector<Mark> before;
  if (IsDefault(streams, stream)) {
    for (const CUstream_st* other : streams.created) {
      const bool waits = other->device == stream->device && other->flags != cudaStreamNonBlocking;
      if (waits) before.push_back(other->last);
    }
  } else if (stream->flags != cudaStreamNonBlocking) {
    const auto it = streams.defaults.find(stream->device);
    if (it != streams.defaults.end()) before.push_back(it->second->last);
  }
  return before;
}

// What is done before the next work of `stream`, which begins after `before`.
Past PastOf(const CUstream_st& stream, const std::vector<Mark>& before) {
  Past past = SeenByHost();
  if (stream.last.past != nullptr) past.Add(*stream.last.past);
  for (const Mark& mark : before) {
    if (mark.past != nullptr) past.Add(*mark.past);
  }
  return past;
}

}  // namespace

CUstream_st* FindStream(cudaStream_t handle) {
  Streams& streams = AllStreams();
  const std::lock_guard<std::mutex> lock(streams.mutex);
  if (handle == nullptr || handle == cudaStreamLegacy) return DefaultStream(streams);
  if (streams.created.count(handle) == 0) {
    Violation("a call names stream %p, which does not exist or has been destroyed",
              static_cast<void*>(handle));
  }
  return handle;
}

Mark Enqueue(CUstream_st* stream, std::function<void()> work, const std::vector<Mark>& others,
             const std::vector<Access>& accesses) {
  Streams& streams = AllStreams();
  const std::lock_guard<std::mutex> lock(streams.mutex);
  std::vector<Mark> before = ImplicitlyBefore(streams, stream);
  before.insert(before.end(), others.begin(), others.end());
  Past past = PastOf(*stream, before);
  const uint64_t number = stream->timeline->Submit([before, work = std::move(work)] {
    for (const Mark& mark : before) mark.Await();
    work();
  });
  CheckOrder(accesses, stream->timeline->id(), number, past);
  past.Add(stream->timeline->id(), number);
  stream->last = {stream->timeline, number, std::make_shared<Past>(std::move(past))};
  return stream->last;
}

void AwaitIdle(int device) {
  std::vector<Mark> marks;
  {
    Streams& streams = AllStreams();
    const std::lock_guard<std::mutex> lock(streams.mutex);
    for (const CUstream_st* stream : streams.created) {
      if (stream->device == device) marks.push_back(stream->last);
    }
    const auto it = streams.defaults.find(device);
    if (it != streams.defaults.end()) marks.push_back(it->second->last);
  }
  for (const Mark& mark : marks) mark.HostAwaits();
}

void Launch(const std::vector<cudaStream_t>& streams, std::function<void()> kernel,
            const std::vector<Access>& accesses) {
  CUstream_st* const first = FindStream(streams[0]);
  std::vector<Mark> before;
  for (size_t i = 1; i < streams.size(); ++i) {
    before.push_back(Enqueue(FindStream(streams[i]), [] {}));
  }
  const Mark done = Enqueue(first, std::move(kernel), before, accesses);
  for (size_t i = 1; i < streams.size(); ++i) Enqueue(FindStream(streams[i]), [] {}, {done});
}

// The end of what a stream has to do so far.
Mark EndOf(cudaStream_t handle) {
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

using fake_cuda::AllStreams;
using fake_cuda::FindStream;
using fake_cuda::Return;

extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  if (cudaError_t error = fake_cuda::RuntimeState(); error != cudaSuccess) return Return(error);
  if (flags != cudaStreamDefault && flags != cudaStreamNonBlocking) {
    return Return(cudaErrorInvalidValue);
  }
  *stream = new CUstream_st{fake_cuda::CurrentDevice(), flags, fake_cuda::Timeline::Start(), {}};
  const std::lock_guard<std::mutex> lock(AllStreams().mutex);
  AllStreams().created.insert(*stream);
  return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

// Returns at once; what the stream still has to do is done.
cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  CUstream_st* const stream = FindStream(handle);
  {
    const std::lock_guard<std::mutex> lock(AllStreams().mutex);
    if (AllStreams().created.erase(stream) == 0) return Return(cudaErrorInvalidResourceHandle);
  }
  stream->timeline->Close();
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  if (cudaError_t error = fake_cuda::RuntimeState(); error != cudaSuccess) return Return(error);
  if (cudaError_t error = fake_cuda::InjectedError(__func__); error != cudaSuccess) {
    return Return(error);
  }
  return Return(fake_cuda::EndOf(handle).HostFindsReached() ? cudaSuccess : cudaErrorNotReady);
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  if (cudaError_t error = fake_cuda::RuntimeState(); error != cudaSuccess) return Return(error);
  fake_cuda::EndOf(handle).HostAwaits();
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned int) {
  const fake_cuda::Mark mark = fake_cuda::LastRecord(event);
  fake_cuda::Enqueue(FindStream(handle), [] {}, {mark});
  return cudaSuccess;
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned int* flags) {
  *flags = FindStream(handle)->flags;
  return cudaSuccess;
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  *device = FindStream(handle)->device;
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* data) {
  fake_cuda::Enqueue(FindStream(handle), [function, data] { function(data); });
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  if (cudaError_t error = fake_cuda::RuntimeState(); error != cudaSuccess) return Return(error);
  fake_cuda::AwaitIdle(fake_cuda::CurrentDevice());
  return cudaSuccess;
}

}  // extern "C"
