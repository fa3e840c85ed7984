// Scenarios of ranks in a job, or with a library, that misbehaves.

#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "muster/communicator.h"
#include "tests/client/nccl/rank/checked_device_memory.h"
#include "tests/client/nccl/rank/held_resources.h"
#include "tests/client/nccl/rank/nccl_scenario.h"
#include "tests/util/process/wait_until.h"

namespace muster::testing {
namespace {

constexpr size_t kCount = 1 << 16;
constexpr absl::Duration kSettle = absl::Seconds(30);

// Cancels after a while, if the arguments say so.
class Canceller {
 public:
  explicit Canceller(const Arguments& arguments) {
    if (!arguments.Has("cancel")) return;
    const absl::Duration after = arguments.Seconds("cancel", 0);
    if (after == absl::ZeroDuration()) {
      cancellation_.Cancel();
      return;
    }
    thread_ = std::thread([this, after] {
      absl::SleepFor(after);
      cancellation_.Cancel();
    });
  }
  ~Canceller() {
    if (thread_.joinable()) thread_.join();
  }

  Cancellation* get() { return &cancellation_; }

 private:
  Cancellation cancellation_;
  std::thread thread_;
};

absl::Status Reduce(NcclCommunicator& comm, const DeviceMemory& data, cudaStream_t stream) {
  return comm.AllReduce(data.get(), data.get(), kCount, DataType::kFloat32, ReduceOp::kSum, stream);
}

// Reduces, in a group if the arguments say so.
absl::Status ReduceAs(const Arguments& arguments, NcclCommunicator& comm, const DeviceMemory& data,
                      cudaStream_t stream) {
  if (!arguments.Has("grouped")) return Reduce(comm, data, stream);
  const AllReducePart buffers[] = {
      {data.get(), data.get(), kCount / 2, DataType::kFloat32},
      {data.at(kCount / 2), data.at(kCount / 2), kCount / 2, DataType::kFloat32}};
  return comm.AllReduce(buffers, ReduceOp::kSum, stream);
}

// Checks that every later call on a communicator that has ended returns the same error.
absl::Status ExpectEnded(NcclCommunicator& comm, const DeviceMemory& data, cudaStream_t stream,
                         const absl::Status& why) {
  RETURN_IF_ERROR(Expect(comm.health() == why, absl::StrCat("health: ", comm.health().ToString())));
  const absl::Status called[] = {
      Reduce(comm, data, stream),
      comm.Broadcast(data.get(), data.get(), 1, DataType::kInt8, 0, stream),
      comm.Grouped([](NcclCommunicator&) { return absl::OkStatus(); }),
      comm.Wait(stream),
  };
  for (const absl::Status& status : called) {
    RETURN_IF_ERROR(Expect(status == why, absl::StrCat("later call: ", status.ToString())));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CreateOne(Job& job, const Arguments& arguments) {
  Print(absl::StrCat("rank ", job.rank(), " creates"));
  if (arguments.Int("absent", -1) == job.rank()) return job.AwaitFailure(absl::Minutes(1));
  Canceller canceller(arguments);
  NcclOptions options = OptionsOf(arguments);
  options.cancellation = canceller.get();
  auto comm = NcclCommunicator::Create(job, options);
  if (comm.ok()) {
    Print(absl::StrCat("created on device ", (*comm)->device()));
    return job.Barrier("created");
  }
  if (arguments.Has("again")) {
    auto again = NcclCommunicator::Create(job);
    Print(absl::StrCat("again: ", again.status().ToString()));
    RETURN_IF_ERROR(job.Barrier("again"));
  }
  return comm.status();
}

// Keeps three communicators of one process busy until a member is lost.
absl::Status ReduceForever(Job& job, const Arguments& arguments) {
  auto comm = NcclCommunicator::Create(job);
  RETURN_IF_ERROR(comm.status());
  auto idle = NcclCommunicator::Create(job);
  RETURN_IF_ERROR(idle.status());
  auto split = (*comm)->Split(job.world());
  RETURN_IF_ERROR(split.status());
  auto host = Communicator::Create(job);
  RETURN_IF_ERROR(host.status());
  const Stream stream;
  const Stream other;
  const DeviceMemory data(DataType::kFloat32, std::vector<double>(kCount));
  const DeviceMemory others(DataType::kFloat32, std::vector<double>(kCount));
  std::vector<float> values(kCount);
  absl::Status status;
  for (int i = 0; status.ok(); ++i) {
    if (i == 3) Print(absl::StrCat("rank ", job.rank(), " is reducing"));
    status = Reduce(**comm, data, stream.get());
    if (status.ok()) status = Reduce(**split, others, other.get());
    if (status.ok()) status = (*comm)->Wait(stream.get());
    if (status.ok()) status = (*host)->AllReduce(absl::MakeSpan(values));
  }
  Print(absl::StrCat("ended: ", status.ToString()));
  RETURN_IF_ERROR(ExpectEnded(**comm, data, stream.get(), status));
  RETURN_IF_ERROR(ExpectEnded(**split, others, other.get(), status));
  const absl::Status lost = job.AwaitFailure(absl::Minutes(1));
  const absl::Status children = (*comm)->Split(std::nullopt).status();
  RETURN_IF_ERROR(Expect(children == status, absl::StrCat("Split: ", children.ToString())));
  RETURN_IF_ERROR(ExpectEnded(**idle, data, stream.get(), lost));
  const absl::Status on_host = (*host)->AllReduce(absl::MakeSpan(values));
  RETURN_IF_ERROR(Expect(on_host == status, absl::StrCat("Communicator: ", on_host.ToString())));
  return Expect(lost == status, absl::StrCat("the job says: ", lost.ToString()));
}

// Reduces once, without rank absent=RANK, and checks that the communicator has ended.
absl::Status ReduceOnce(Job& job, const Arguments& arguments) {
  auto comm = NcclCommunicator::Create(job, OptionsOf(arguments));
  RETURN_IF_ERROR(comm.status());
  auto healthy = NcclCommunicator::Create(job);
  RETURN_IF_ERROR(healthy.status());
  const Stream stream;
  const DeviceMemory data(DataType::kFloat32, std::vector<double>(kCount));
  absl::Status status = absl::OkStatus();
  if (arguments.Has("warm")) {
    status = Reduce(**comm, data, stream.get());
    if (status.ok()) status = (*comm)->Wait(stream.get());
  }
  RETURN_IF_ERROR(status);
  Canceller canceller(arguments);
  if (arguments.Int("absent", -1) != job.rank()) {
    status = ReduceAs(arguments, **comm, data, stream.get());
    if (status.ok()) {
      status =
          (*comm)->Wait(stream.get(), CallOptions{OptionsOf(arguments).timeout, canceller.get()});
    }
  }
  Print(absl::StrCat("ended: ", status.ToString()));
  // If NCCL does not stop, each call says so, and waits for it.
  if (!status.ok() && !arguments.Has("stuck")) {
    RETURN_IF_ERROR(ExpectEnded(**comm, data, stream.get(), status));
  }
  RETURN_IF_ERROR(job.Barrier("after the reduction"));
  comm->reset();
  if (arguments.Has("others")) {
    RETURN_IF_ERROR(Reduce(**healthy, data, stream.get()));
    RETURN_IF_ERROR((*healthy)->Wait(stream.get()));
    Print("another communicator goes on");
  }
  return job.Barrier("the end");
}

// Splits into one part, which one rank spoils: wrong=RANK passes another group, absent=RANK does
// not call.
absl::Status OneSplit(Job& job, const Arguments& arguments) {
  auto comm = NcclCommunicator::Create(job, OptionsOf(arguments));
  RETURN_IF_ERROR(comm.status());
  if (arguments.Int("absent", -1) == job.rank()) {
    Print("stays away");
    return job.AwaitFailure(absl::Minutes(1));
  }
  Print("creates the split");
  const bool wrong = arguments.Int("wrong", -1) == job.rank();
  auto split = (*comm)->Split(wrong ? *job.NewGroup("alone", {job.rank()}) : job.world());
  Print(absl::StrCat("split: ", split.status().ToString()));
  Print(absl::StrCat("parent: ", (*comm)->health().ToString()));
  const absl::Status status = split.status();
  if (split.ok()) split->reset();
  comm->reset();
  const bool freed = WaitUntil([] { return NcclCommunicators() == 0; }, kSettle);
  if (freed) Print("no communicator is left");
  return status;
}

// On rank 0, lets an operation hang that is not waited for. Meanwhile another communicator grows
// its memory and is destroyed.
absl::Status GrowBesideAHang(Job& job, const Arguments& arguments) {
  auto hanging = NcclCommunicator::Create(job);
  RETURN_IF_ERROR(hanging.status());
  auto comm = Communicator::Create(job);
  RETURN_IF_ERROR(comm.status());
  const Stream stream;
  const DeviceMemory data(DataType::kFloat32, std::vector<double>(kCount));
  RETURN_IF_ERROR(Reduce(**hanging, data, stream.get()));
  RETURN_IF_ERROR((*hanging)->Wait(stream.get()));
  if (job.rank() == 0) {
    RETURN_IF_ERROR(Reduce(**hanging, data, stream.get()));
  }
  for (size_t count = 1; count < kCount; count *= 16) {
    std::vector<float> values(count, 1);
    RETURN_IF_ERROR((*comm)->AllReduce(absl::MakeSpan(values)));
    RETURN_IF_ERROR(Expect(values.back() == 2, "a growing AllReduce"));
  }
  comm->reset();
  RETURN_IF_ERROR(job.Barrier("the other is destroyed"));
  if (job.rank() == 0) {
    const absl::Status status =
        (*hanging)->Wait(stream.get(), CallOptions{absl::ZeroDuration(), nullptr});
    RETURN_IF_ERROR(Expect(absl::IsDeadlineExceeded(status), status.ToString()));
  }
  return job.Barrier("the end");
}

absl::Status HostReduceOnce(Job& job, const Arguments& arguments) {
  auto comm = Communicator::Create(job);
  RETURN_IF_ERROR(comm.status());
  Print(absl::StrCat("backend ", (*comm)->backend()));
  std::vector<float> data(arguments.Int("count", 1));
  if (arguments.Has("warm")) {
    RETURN_IF_ERROR((*comm)->AllReduce(data));
  }
  Canceller canceller(arguments);
  CallOptions options;
  if (arguments.Has("timeout")) options.timeout = arguments.Seconds("timeout", 0);
  options.cancellation = canceller.get();
  absl::Status status;
  if (arguments.Int("absent", -1) != job.rank()) {
    status = (*comm)->AllReduce(absl::MakeSpan(data), ReduceOp::kSum, options);
  }
  Print(absl::StrCat("ended: ", status.ToString()));
  if (!status.ok()) {
    const absl::Status later = (*comm)->Barrier();
    RETURN_IF_ERROR(Expect(later == status, absl::StrCat("later call: ", later.ToString())));
  }
  return job.Barrier("after the reduction");
}

}  // namespace muster::testing
