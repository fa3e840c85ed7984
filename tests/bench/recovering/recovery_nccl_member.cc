// One rank of recovery_nccl.cc: recovery_nccl_member MODE PIPE.
//
//   reduce   makes all-reduces until a rank is lost, and one more in the next epoch
//   bare     creates a bare NCCL communicator, whose id the job broadcasts, and all-reduces once
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <unistd.h>

#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "muster/job.h"
#include "muster/nccl.h"
#include "tests/bench/recovering/recovery_member.h"

namespace muster::testing {
namespace {

constexpr size_t kCount = size_t{64} << 10;  // floats

int Fail(const absl::Status& status) {
  std::cerr << "recovery_nccl_member: " << status << std::endl;
  return 1;
}

absl::Status CudaStatus(cudaError_t error) {
  return error == cudaSuccess ? absl::OkStatus() : absl::InternalError(cudaGetErrorString(error));
}

// A stream and a buffer on this rank's GPU. They live as long as the process.
struct Work {
  cudaStream_t stream = nullptr;
  void* data = nullptr;
  int device = 0;

  absl::Status Prepare() {
    absl::Status status = CudaStatus(cudaGetDevice(&device));
    if (status.ok()) {
      status = CudaStatus(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    }
    if (status.ok()) status = CudaStatus(cudaMalloc(&data, kCount * sizeof(float)));
    if (status.ok()) status = CudaStatus(cudaMemset(data, 0, kCount * sizeof(float)));
    return status.ok() ? CudaStatus(cudaDeviceSynchronize()) : status;
  }
};

absl::Status Reduce(NcclCommunicator& comm, const Work& work) {
  absl::Status status =
      comm.AllReduce(work.data, work.data, kCount, DataType::kFloat32, ReduceOp::kMax, work.stream);
  return status.ok() ? comm.Wait(work.stream) : status;
}

absl::Status ReduceUntilLoss(Job& job, const Reporter& reporter, Work& work) {
  const auto comm = NcclCommunicator::Create(job);
  if (!comm.ok()) return comm.status();
  absl::Status status = work.Prepare();
  if (status.ok()) status = Reduce(**comm, work);
  if (!status.ok()) return status;
  reporter.Write(Report::kReady, job.rank());
  while (status.ok()) {
    if (job.is_main()) reporter.Write(Report::kReduced, 0);
    status = Reduce(**comm, work);
  }
  reporter.Write(Report::kLost, job.rank());
  return absl::IsAborted(status) ? absl::OkStatus() : status;
}

absl::Status ReduceAgain(Job& job, const Reporter& reporter, const Work& work) {
  if (absl::Status status = job.Rejoin(); !status.ok()) return status;
  // The local rank may have changed, but the buffer is still on the old device.
  NcclOptions options;
  options.device = work.device;
  const auto comm = NcclCommunicator::Create(job, options);
  if (!comm.ok()) return comm.status();
  absl::Status status = Reduce(**comm, work);
  reporter.Write(Report::kReformed, job.rank());
  return status;
}

absl::Status NcclStatus(ncclResult_t result) {
  return result == ncclSuccess ? absl::OkStatus() : absl::InternalError(ncclGetErrorString(result));
}

absl::Status Bare(Job& job, const Reporter& reporter, Work& work) {
  absl::Status status = CudaStatus(cudaSetDevice(job.local_rank()));
  if (status.ok()) status = work.Prepare();
  if (!status.ok()) return status;
  reporter.Write(Report::kReady, job.rank());
  if (status = job.Barrier("start"); !status.ok()) return status;
  reporter.Write(Report::kBarrier, job.rank());
  ncclUniqueId id = {};
  if (job.is_main()) status = NcclStatus(ncclGetUniqueId(&id));
  if (!status.ok()) return status;
  const absl::StatusOr<ncclUniqueId> shared = job.Broadcast(id);
  if (!shared.ok()) return shared.status();
  ncclComm_t comm = nullptr;
  status = NcclStatus(ncclCommInitRank(&comm, job.world_size(), *shared, job.rank()));
  if (status.ok()) {
    status = NcclStatus(
        ncclAllReduce(work.data, work.data, kCount, ncclFloat, ncclMax, comm, work.stream));
  }
  if (status.ok()) status = CudaStatus(cudaStreamSynchronize(work.stream));
  reporter.Write(Report::kReformed, job.rank());
  if (status.ok()) status = NcclStatus(ncclCommFinalize(comm));
  return status.ok() ? NcclStatus(ncclCommDestroy(comm)) : status;
}

int Run(const std::string& mode, const Reporter& reporter) {
  const auto job = Job::Join(JobOptions::FromEnvironment());
  if (!job.ok()) return Fail(job.status());
  Work work;
  absl::Status status =
      mode == "bare" ? Bare(**job, reporter, work) : ReduceUntilLoss(**job, reporter, work);
  if (status.ok() && mode != "bare") status = ReduceAgain(**job, reporter, work);
  if (status.ok()) status = (*job)->Leave();
  return status.ok() ? 0 : Fail(status);
}

}  // namespace
}  // namespace muster::testing

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  return muster::testing::Run(argv[1], muster::testing::Reporter(argv[2]));
}
