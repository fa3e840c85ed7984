// Scenarios of Communicator on the NCCL backend beside the caller's own work on the GPU. No
// operation may read what the caller's streams have not yet written, or overwrite what they have
// not yet read.

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "muster/communicator.h"
#include "muster/scopes.h"
#include "tests/client/nccl/rank/checked_device_memory.h"
#include "tests/client/nccl/rank/nccl_scenario.h"

namespace muster::testing {
namespace {

constexpr size_t kCount = 1 << 20;  // bytes of one rank's part

// A caller with work on a stream. An operation must come after that work, although the host does
// not wait for it.
class Caller {
 public:
  // `named` is the stream in CallOptions.
  Caller(Communicator& comm, cudaStream_t stream, void* named)
      : comm_(comm),
        stream_(stream),
        in_(DataType::kUint8, std::vector<double>(kCount * comm.size())),
        out_(DataType::kUint8, std::vector<double>(kCount * comm.size())) {
    options_.stream = named;
  }

  absl::Status Run() {
    const int n = comm_.size();
    RETURN_IF_ERROR(Check("AllReduce in place", n,
                          [&] { return comm_.AllReduce(In(1), ReduceOp::kSum, options_); }));
    RETURN_IF_ERROR(Check("AllReduce", n, [&] {
      return comm_.AllReduce(ConstIn(1), Out(1), ReduceOp::kSum, options_);
    }));
    RETURN_IF_ERROR(Check("AllReduceCoalesced", n, [&] {
      const absl::Span<uint8_t> parts[] = {In(1).first(10), In(1).subspan(10)};
      return comm_.AllReduceCoalesced<uint8_t>(parts, ReduceOp::kSum, options_);
    }));
    RETURN_IF_ERROR(Check("Broadcast", 1, [&] { return comm_.Broadcast(In(1), n - 1, options_); }));
    RETURN_IF_ERROR(Check("Reduce", comm_.rank() == 0 ? n : 1, [&] {
      return comm_.Reduce(ConstIn(1), In(1), ReduceOp::kSum, 0, options_);
    }));
    RETURN_IF_ERROR(
        Check("AllGather", 1, [&] { return comm_.AllGather(ConstIn(1), Out(n), options_); }));
    RETURN_IF_ERROR(Check("ReduceScatter", n, [&] {
      return comm_.ReduceScatter(ConstIn(n), Out(1), ReduceOp::kSum, options_);
    }));
    return n == 2 ? Check("Send and Recv", 1, [&] { return PassOn(); }) : absl::OkStatus();
  }

  // Checks collectives on this rank alone.
  absl::Status RunAlone() {
    return Check("AllReduce alone", 1,
                 [&] { return comm_.AllReduce(ConstIn(1), Out(1), ReduceOp::kSum, options_); });
  }

 private:
  absl::Span<uint8_t> In(size_t parts) {
    return absl::MakeSpan(static_cast<uint8_t*>(in_.get()), parts * kCount);
  }
  absl::Span<const uint8_t> ConstIn(size_t parts) { return In(parts); }
  absl::Span<uint8_t> Out(size_t parts) {
    return absl::MakeSpan(static_cast<uint8_t*>(out_.get()), parts * kCount);
  }

  absl::Status PassOn() {
    if (comm_.rank() == 0) return comm_.Send(ConstIn(1), 1, options_);
    return comm_.Recv(In(1), 0, options_);
  }

  // Writes ones, calls, and copies the result, which is in `in` or in `out`, to the other. Does not
  // wait for its stream in between.
  absl::Status Check(const std::string& what, int expected,
                     const std::function<absl::Status()>& call) {
    CheckCuda(cudaMemsetAsync(in_.get(), 1, kCount * comm_.size(), stream_));
    CheckCuda(cudaMemsetAsync(out_.get(), 0xff, kCount * comm_.size(), stream_));
    RETURN_IF_ERROR(call());
    uint8_t ends[4] = {};
    const char* const results[] = {in_.at(0), in_.at(kCount - 1), out_.at(0), out_.at(kCount - 1)};
    for (int i = 0; i < 4; ++i) {
      CheckCuda(cudaMemcpyAsync(&ends[i], results[i], 1, cudaMemcpyDeviceToHost, stream_));
    }
    CheckCuda(cudaStreamSynchronize(stream_));
    const bool in_place = ends[2] == 0xff;
    const uint8_t* const got = in_place ? ends : ends + 2;
    return Expect(got[0] == expected && got[1] == expected,
                  absl::StrCat(what, ": got ", got[0], " and ", got[1], ", expected ", expected));
  }

  Communicator& comm_;
  cudaStream_t const stream_;
  const DeviceMemory in_;
  const DeviceMemory out_;
  CallOptions options_;
};

// Reduces host memory that the GPU writes.
absl::Status Pinned(Communicator& comm) {
  const Stream stream;
  uint8_t* data = nullptr;
  CheckCuda(cudaHostAlloc(reinterpret_cast<void**>(&data), kCount, cudaHostAllocDefault));
  CheckCuda(cudaMemsetAsync(data, 1, kCount, stream.get()));
  CallOptions options;
  options.stream = stream.get();
  RETURN_IF_ERROR(comm.AllReduce(absl::MakeSpan(data, kCount), ReduceOp::kSum, options));
  RETURN_IF_ERROR(Expect(data[0] == comm.size() && data[kCount - 1] == comm.size(),
                         "AllReduce of pinned memory"));
  CheckCuda(cudaFreeHost(data));
  return absl::OkStatus();
}

}  // namespace

absl::Status StreamOrder(Job& job, const Arguments& arguments) {
  auto comm = Communicator::Create(job);
  RETURN_IF_ERROR(comm.status());
  const Stream apart;
  cudaStream_t ordinary = nullptr;
  CheckCuda(cudaStreamCreate(&ordinary));
  Caller callers[] = {
      {**comm, nullptr, nullptr},
      {**comm, ordinary, nullptr},
      {**comm, ordinary, ordinary},
      {**comm, apart.get(), apart.get()},
  };
  for (Caller& caller : callers) RETURN_IF_ERROR(caller.Run());
  RETURN_IF_ERROR(Pinned(**comm));
  {
    const PreventBlock alone(job);
    for (Caller& caller : callers) RETURN_IF_ERROR(caller.RunAlone());
  }
  CheckCuda(cudaStreamDestroy(ordinary));
  return job.Barrier("the end");
}

}  // namespace muster::testing
