#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/gpu/checks/bare.h"
#include "tests/gpu/checks/gpu_checks.h"
#include "tests/gpu/checks/statistics.h"
#include "tests/gpu/checks/typed.h"

// Times an operation and the wait for it: with Muster, with bare NCCL, and with bare NCCL once
// more. The difference between the two bare times is the noise of the machine.
namespace muster::gpu {
namespace {

constexpr size_t kSizes[] = {4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20};
constexpr size_t kJudgedFrom = 1 << 20;
constexpr double kLimit = 1.01;
constexpr int kMinRounds = 7;
// A size is left out if its fewest rounds would take this many times as long as allowed. Processes
// that share a GPU wait for their turns, and more data takes more turns.
constexpr double kPatience = 4;
constexpr int kMaxRounds = 300;

enum class Operation { kAllReduce, kBroadcast };

const char* NameOf(Operation operation) {
  return operation == Operation::kAllReduce ? "all-reduce" : "broadcast";
}

struct Series {
  std::vector<double> muster, bare, again;  // microseconds
};

class Rank {
 public:
  static absl::StatusOr<std::unique_ptr<Rank>> Make(Job& job, const RankFlags& flags) {
    auto comm = NcclCommunicator::Create(job);
    if (!comm.ok()) return comm.status();
    auto bare = ConnectBare(job.rank(), job.world_size(), flags.scratch + "/id");
    if (!bare.ok()) return bare.status();
    auto stream = Stream::Make();
    if (!stream.ok()) return stream.status();
    auto data = DeviceArray<float>::Of(std::vector<float>(flags.max_bytes / sizeof(float)));
    if (!data.ok()) return data.status();
    return std::unique_ptr<Rank>(
        new Rank(job, *std::move(comm), *std::move(bare), *std::move(stream), *std::move(data)));
  }

  // Runs as many rounds as fit into the time, or none if it is too short. Each round begins with
  // another of the three.
  absl::StatusOr<Series> Measure(Operation operation, size_t bytes, double seconds) {
    operation_ = operation;
    count_ = bytes / sizeof(float);
    Series warm_up;
    RETURN_IF_ERROR(Round(0, &warm_up));  // connects
    RETURN_IF_ERROR(Round(0, &warm_up));
    const double round_seconds = (warm_up.muster[1] + warm_up.bare[1] + warm_up.again[1]) / 1e6;
    const absl::StatusOr<int64_t> rounds = job_.Broadcast(RoundsIn(seconds, round_seconds));
    if (!rounds.ok()) return rounds.status();
    Series series;
    for (int64_t i = 0; i < *rounds; ++i) RETURN_IF_ERROR(Round(i, &series));
    return series;
  }

 private:
  Rank(Job& job, std::unique_ptr<NcclCommunicator> comm, BareComm bare, Stream stream,
       DeviceArray<float> data)
      : job_(job),
        comm_(std::move(comm)),
        bare_(std::move(bare)),
        stream_(std::move(stream)),
        data_(std::move(data)) {}

  static int64_t RoundsIn(double seconds, double round_seconds) {
    if (round_seconds * kMinRounds > seconds * kPatience) return 0;
    return static_cast<int64_t>(
        std::clamp<double>(seconds / round_seconds, kMinRounds, kMaxRounds));
  }

  absl::Status Round(int64_t i, Series* series) {
    absl::Status status;
    const auto muster = [&] { status.Update(Time(&Rank::RunMuster, &series->muster)); };
    const auto bare = [&] { status.Update(Time(&Rank::RunBare, &series->bare)); };
    const auto again = [&] { status.Update(Time(&Rank::RunBare, &series->again)); };
    if (i % 3 == 0) muster(), bare(), again();
    if (i % 3 == 1) bare(), again(), muster();
    if (i % 3 == 2) again(), muster(), bare();
    return status;
  }

  absl::Status Time(absl::Status (Rank::*run)(), std::vector<double>* times) {
    const absl::Time start = absl::Now();
    RETURN_IF_ERROR((this->*run)());
    times->push_back(absl::ToDoubleMicroseconds(absl::Now() - start));
    return absl::OkStatus();
  }

  absl::Status RunMuster() {
    float* const data = data_.data();
    RETURN_IF_ERROR(
        operation_ == Operation::kAllReduce
            ? comm_->AllReduce(data, data, count_, DataType::kFloat32, ReduceOp::kSum,
                               stream_.get())
            : comm_->Broadcast(data, data, count_, DataType::kFloat32, 0, stream_.get()));
    return comm_->Wait(stream_.get());
  }

  absl::Status RunBare() {
    float* const data = data_.data();
    RETURN_IF_ERROR(NcclStatus(
        operation_ == Operation::kAllReduce
            ? ncclAllReduce(data, data, count_, ncclFloat32, ncclSum, bare_.get(), stream_.get())
            : ncclBroadcast(data, data, count_, ncclFloat32, 0, bare_.get(), stream_.get()),
        NameOf(operation_)));
    return CudaStatus(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
  }

  Job& job_;
  std::unique_ptr<NcclCommunicator> comm_;
  BareComm bare_;
  Stream stream_;
  DeviceArray<float> data_;
  Operation operation_ = Operation::kAllReduce;
  size_t count_ = 0;
};

void Print(Operation operation, size_t bytes, const Series& series) {
  std::cout << absl::StrFormat("%10s %9d B ", NameOf(operation), bytes);
  if (series.muster.empty()) {
    std::cout << "takes too long to be measured" << std::endl;
    return;
  }
  const std::vector<double> ratios = Ratios(series.muster, series.bare);
  const std::vector<double> noise = Ratios(series.again, series.bare);
  std::cout << absl::StrFormat(
                   "%11.1f us %11.1f us  ratio %.3f (%.3f to %.3f)  bare/bare %.3f (%.3f to %.3f)  "
                   "%3d rounds",
                   Median(series.muster), Median(series.bare), Median(ratios),
                   Percentile(ratios, 0.1), Percentile(ratios, 0.9), Median(noise),
                   Percentile(noise, 0.1), Percentile(noise, 0.9), ratios.size())
            << std::endl;
}

// Returns an error if Muster is slower than its limit. Larger sizes may have been left out, but not
// the first size that has a limit.
absl::Status Judge(Operation operation, size_t bytes, const Series& series) {
  if (bytes < kJudgedFrom || (series.muster.empty() && bytes > kJudgedFrom)) {
    return absl::OkStatus();
  }
  if (series.muster.empty()) return absl::InternalError("1 MiB takes too long to be measured");
  const double ratio = Median(Ratios(series.muster, series.bare));
  const double noise = Median(Ratios(series.again, series.bare));
  if (ratio <= kLimit * std::max(1.0, noise)) return absl::OkStatus();
  return absl::InternalError(
      absl::StrFormat("%s of %d bytes took %.3f times as long as with bare NCCL; the limit is %.2f",
                      NameOf(operation), bytes, ratio, kLimit));
}

}  // namespace

absl::Status CheckSpeed(Job& job, const RankFlags& flags) {
  const absl::StatusOr<std::unique_ptr<Rank>> rank = Rank::Make(job, flags);
  if (!rank.ok()) return rank.status();
  if (job.is_main()) {
    std::cout << "                              Muster     bare NCCL  medians (10% to 90%)"
              << std::endl;
  }
  const bool judge = flags.judge && job.world_size() > 1;  // one rank has no peer
  absl::Status verdict;
  for (Operation operation : {Operation::kAllReduce, Operation::kBroadcast}) {
    for (size_t bytes : kSizes) {
      if (bytes > flags.max_bytes) break;
      const absl::StatusOr<Series> series = (*rank)->Measure(operation, bytes, flags.seconds);
      if (!series.ok()) return series.status();
      if (!job.is_main()) continue;
      Print(operation, bytes, *series);
      if (judge) verdict.Update(Judge(operation, bytes, *series));
    }
  }
  // Before 2.24, NCCL drops what its proxy has not begun to send when a communicator ends.
  RETURN_IF_ERROR(job.Barrier("before the communicators end"));
  return verdict;
}

}  // namespace muster::gpu
