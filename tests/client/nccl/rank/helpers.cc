// Scenarios of muster/device.h and muster/tensor_collectives.h over NCCL.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "muster/toolkits.h"
#include "tests/client/nccl/rank/checked_device_memory.h"
#include "tests/client/nccl/rank/nccl_scenario.h"

namespace muster::testing {
namespace {

using toolkits::AllGather;
using toolkits::AllReduce;
using toolkits::AvailableBackends;
using toolkits::AverageAcrossProcesses;
using toolkits::BackendOf;
using toolkits::CommunicationModel;
using toolkits::DeviceOf;
using toolkits::GpuMemUsage;
using toolkits::InferDevice;

absl::Status DeviceAndBackend(Job& job) {
  const std::string device = absl::StrCat("cuda:", job.local_rank());
  RETURN_IF_ERROR(Expect(DeviceOf(job).value_or("?") == device, "DeviceOf"));
  RETURN_IF_ERROR(Expect(BackendOf(job).value_or("?") == "nccl", "BackendOf"));
  RETURN_IF_ERROR(Expect(CommunicationModel(job) == "muster-nccl", "CommunicationModel"));
  return Expect(AvailableBackends() == std::vector<std::string>{"nccl", "gloo"}, "backends");
}

// NCCL has no bitwise operations, and no type for bool.
absl::Status Bits(Job& job) {
  const uint32_t all = (1u << job.world_size()) - 1;
  const uint32_t own = 1u << job.rank();
  std::vector<uint32_t> host(1001, own);
  RETURN_IF_ERROR(AllReduce(job, absl::MakeSpan(host), ReduceOp::kBitwiseOr));
  RETURN_IF_ERROR(Expect(host == std::vector<uint32_t>(1001, all), "bitwise or"));
  bool main = job.is_main();
  RETURN_IF_ERROR(AllReduce(job, MutableViewOf(main), ReduceOp::kBitwiseOr));
  RETURN_IF_ERROR(Expect(main, "bitwise or of bool"));
  const DeviceMemory memory(DataType::kUint32, {7.0, 8.0 + own});
  const MutableTensorView view = {DataType::kUint32, {2}, memory.get(), 8};
  RETURN_IF_ERROR(AllReduce(job, view, ReduceOp::kBitwiseAnd));
  return Expect(memory.numbers()[0] == 7, "bitwise and on the device");
}

absl::Status Averages(Job& job) {
  const DeviceMemory half(DataType::kFloat16, std::vector<double>(10, job.rank()));
  std::vector<float> host = {1.0f * job.rank()};
  std::map<std::string, MutableTensorView> tensors = {
      {"half", {DataType::kFloat16, {2, 5}, half.get(), 20}}, {"host", MutableViewOf(host)}};
  RETURN_IF_ERROR(AverageAcrossProcesses(job, &tensors));
  const double mean = (job.world_size() - 1) / 2.0;
  RETURN_IF_ERROR(Expect(half.numbers() == std::vector<double>(10, mean), "16-bit floats"));
  return Expect(host[0] == mean, "the mean of the host's");
}

absl::Status Gathers(Job& job) {
  const DeviceMemory memory(DataType::kFloat32, {1.0 * job.rank()});
  const auto whole = AllGather(job, TensorView{DataType::kFloat32, {1}, memory.get(), 4});
  RETURN_IF_ERROR(whole.status());
  RETURN_IF_ERROR(Expect((*whole->view.As<float>())[job.rank()] == job.rank(), "AllGather"));
  std::vector<int16_t> narrow = {3};
  const auto list = AllGather(job, absl::MakeSpan(narrow));
  RETURN_IF_ERROR(list.status());
  return Expect(*list == std::vector<int16_t>(job.world_size(), 3), "AllGather of int16");
}

}  // namespace

absl::Status Helpers(Job& job, const Arguments& arguments) {
  RETURN_IF_ERROR(DeviceAndBackend(job));
  RETURN_IF_ERROR(Expect(GpuMemUsage() == 0, "memory before the GPU is used"));
  CheckCuda(cudaSetDevice(job.local_rank()));
  RETURN_IF_ERROR(Gathers(job));
  RETURN_IF_ERROR(Bits(job));
  RETURN_IF_ERROR(Averages(job));
  RETURN_IF_ERROR(Expect(GpuMemUsage() > 0, "memory of the communicator"));
  return job.Leave();
}

absl::Status ShowDevice(Job& job, const Arguments& arguments) {
  const auto device = DeviceOf(job);
  RETURN_IF_ERROR(device.status());
  Print(absl::StrCat("uses ", *device, ", inferred ", InferDevice().value_or("none"), " and ",
                     GpuMemUsage(), " MiB"));
  return absl::OkStatus();
}

}  // namespace muster::testing
