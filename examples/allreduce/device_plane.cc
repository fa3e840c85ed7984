#include <cuda_runtime_api.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "examples/allreduce/device_memory.h"
#include "examples/allreduce/plane.h"
#include "muster/nccl.h"

namespace allreduce {
namespace {

using muster::NcclCommunicator;

class DevicePlane final : public Plane {
 public:
  DevicePlane(std::unique_ptr<NcclCommunicator> communicator, Stream stream)
      : communicator_(std::move(communicator)), stream_(std::move(stream)) {}

  std::string backend() const override { return "nccl"; }
  std::string memory() const override { return absl::StrCat("device ", communicator_->device()); }

  absl::Status Prepare(const Work& work, const std::string& input) override {
    work_ = work;
    in_ = DeviceMemory();  // freed first, since all four may not fit
    out_ = DeviceMemory();
    auto in = DeviceMemory::Make(input.size());
    if (!in.ok()) return in.status();
    in_ = *std::move(in);
    auto out = DeviceMemory::Make(OutCount(work) * SizeOf(work.type));
    if (!out.ok()) return out.status();
    out_ = *std::move(out);
    return in_.CopyFrom(input);
  }

  absl::Status Run(int times) override {
    for (int i = 0; i < times; ++i) {
      const absl::Status enqueued = Enqueue();
      if (!enqueued.ok()) return enqueued;
    }
    return communicator_->Wait(stream_.get());
  }

  absl::StatusOr<std::string> Output() override { return out_.Copy(); }

 private:
  absl::Status Enqueue() {
    NcclCommunicator& comm = *communicator_;
    const auto [collective, type, op, count, ranks] = work_;
    const void* in = in_.get();
    void* out = out_.get();
    switch (collective) {
      case Collective::kAllReduce:
        return comm.AllReduce(in, out, count, type, op, stream_.get());
      case Collective::kBroadcast:
        return comm.Broadcast(in, out, count, type, 0, stream_.get());
      case Collective::kReduce:
        return comm.Reduce(in, out, count, type, op, 0, stream_.get());
      case Collective::kAllGather:
        return comm.AllGather(in, out, count, type, stream_.get());
      case Collective::kReduceScatter:
        return comm.ReduceScatter(in, out, count, type, op, stream_.get());
      case Collective::kSendRecv:
        return SendRecv();
    }
    return absl::InternalError("no such collective");
  }

  // Sends and receives in one group, so that neither waits for the other.
  absl::Status SendRecv() {
    return communicator_->Grouped([this](NcclCommunicator& comm) {
      const int next = (comm.rank() + 1) % comm.size();
      const int previous = (comm.rank() + comm.size() - 1) % comm.size();
      absl::Status sent = comm.Send(in_.get(), work_.count, work_.type, next, stream_.get());
      if (!sent.ok()) return sent;
      return comm.Recv(out_.get(), work_.count, work_.type, previous, stream_.get());
    });
  }

  std::unique_ptr<NcclCommunicator> communicator_;
  Stream stream_;
  Work work_;
  DeviceMemory in_;
  DeviceMemory out_;
};

}  // namespace

bool HasDevicePlane() { return true; }

absl::StatusOr<std::unique_ptr<Plane>> MakeDevicePlane(const muster::Job& job) {
  auto communicator = NcclCommunicator::Create(job);
  if (!communicator.ok()) return communicator.status();
  auto stream = Stream::Make();
  if (!stream.ok()) return stream.status();
  return std::make_unique<DevicePlane>(*std::move(communicator), *std::move(stream));
}

}  // namespace allreduce
