#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "examples/allreduce/plane.h"
#include "muster/communicator.h"

namespace allreduce {
namespace {

using muster::Communicator;
using muster::DataType;

// Runs typed operations on untyped buffers.
template <class T>
class TypedOperation {
 public:
  TypedOperation(Communicator& communicator, const Work& work, std::string& in, std::string& out)
      : communicator_(communicator),
        work_(work),
        in_(reinterpret_cast<const T*>(in.data()), InCount(work)),
        out_(reinterpret_cast<T*>(out.data()), OutCount(work)) {}

  absl::Status Run() {
    switch (work_.collective) {
      case Collective::kAllReduce:
        return communicator_.AllReduce(in_, out_, work_.op);
      case Collective::kBroadcast:
        return communicator_.Broadcast(out_);
      case Collective::kReduce:
        return communicator_.Reduce(in_, out_, work_.op);
      case Collective::kAllGather:
        return communicator_.AllGather(in_, out_);
      case Collective::kReduceScatter:
        return communicator_.ReduceScatter(in_, out_, work_.op);
      case Collective::kSendRecv:
        return SendRecv();
    }
    return absl::InternalError("no such collective");
  }

 private:
  // Sends first on even ranks, since two ranks that both send first may wait for each other.
  absl::Status SendRecv() {
    const int next = (communicator_.rank() + 1) % work_.ranks;
    const int previous = (communicator_.rank() + work_.ranks - 1) % work_.ranks;
    const bool sends_first = communicator_.rank() % 2 == 0;
    absl::Status status;
    if (sends_first) status = communicator_.Send(in_, next);
    if (status.ok()) status = communicator_.Recv(out_, previous);
    if (status.ok() && !sends_first) status = communicator_.Send(in_, next);
    return status;
  }

  Communicator& communicator_;
  const Work& work_;
  absl::Span<const T> in_;
  absl::Span<T> out_;
};

class HostPlane final : public Plane {
 public:
  explicit HostPlane(std::unique_ptr<Communicator> communicator)
      : communicator_(std::move(communicator)) {}

  std::string backend() const override { return communicator_->backend(); }
  std::string memory() const override { return "host"; }

  absl::Status Prepare(const Work& work, const std::string& input) override {
    work_ = work;
    in_ = input;
    out_.assign(OutCount(work) * SizeOf(work.type), '\0');
    // Communicator::Broadcast works in place.
    if (work.collective == Collective::kBroadcast && communicator_->rank() == 0) out_ = input;
    return absl::OkStatus();
  }

  absl::Status Run(int times) override {
    absl::Status status;
    for (int i = 0; status.ok() && i < times; ++i) status = RunOnce();
    return status;
  }

  absl::StatusOr<std::string> Output() override { return out_; }

 private:
  template <class T>
  absl::Status RunAs() {
    return TypedOperation<T>(*communicator_, work_, in_, out_).Run();
  }

  absl::Status RunOnce() {
    switch (work_.type) {
      case DataType::kFloat32:
        return RunAs<float>();
      case DataType::kFloat64:
        return RunAs<double>();
      case DataType::kInt32:
        return RunAs<int32_t>();
      case DataType::kInt64:
        return RunAs<int64_t>();
      case DataType::kUint8:
        return RunAs<uint8_t>();
      case DataType::kInt8:
        return RunAs<int8_t>();
      case DataType::kUint32:
        return RunAs<uint32_t>();
      case DataType::kUint64:
        return RunAs<uint64_t>();
      default:
        return absl::UnimplementedError(
            absl::StrCat("--type ", NameOf(work_.type), " needs --backend nccl"));
    }
  }

  std::unique_ptr<Communicator> communicator_;
  Work work_;
  std::string in_;
  std::string out_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Plane>> MakeHostPlane(const muster::Job& job,
                                                     const std::string& backend) {
  muster::CommunicatorOptions options;
  options.backend = backend;
  absl::StatusOr<std::unique_ptr<Communicator>> communicator = Communicator::Create(job, options);
  if (!communicator.ok()) return communicator.status();
  return std::make_unique<HostPlane>(*std::move(communicator));
}

}  // namespace allreduce
