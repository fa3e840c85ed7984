#ifndef MUSTER_TESTS_GPU_CHECKS_TYPED_H_
#define MUSTER_TESTS_GPU_CHECKS_TYPED_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "muster/nccl.h"
#include "tests/gpu/checks/gpu_device.h"
#include "tests/gpu/checks/reference.h"

namespace muster::gpu {

// A C++ type, with its DataType and its name.
template <class T>
struct TypeInfo;
#define MUSTER_GPU_TYPE(type, data_type, text)                 \
  template <>                                                  \
  struct TypeInfo<type> {                                      \
    static constexpr DataType kDataType = DataType::data_type; \
    static constexpr const char* kName = text;                 \
  }
MUSTER_GPU_TYPE(float, kFloat32, "float32");
MUSTER_GPU_TYPE(double, kFloat64, "float64");
MUSTER_GPU_TYPE(int32_t, kInt32, "int32");
MUSTER_GPU_TYPE(int64_t, kInt64, "int64");
MUSTER_GPU_TYPE(uint8_t, kUint8, "uint8");
MUSTER_GPU_TYPE(int8_t, kInt8, "int8");
MUSTER_GPU_TYPE(uint32_t, kUint32, "uint32");
MUSTER_GPU_TYPE(uint64_t, kUint64, "uint64");
MUSTER_GPU_TYPE(__half, kFloat16, "float16");
MUSTER_GPU_TYPE(__nv_bfloat16, kBfloat16, "bfloat16");
MUSTER_GPU_TYPE(__nv_fp8_e4m3, kFloat8E4m3, "float8_e4m3");
MUSTER_GPU_TYPE(__nv_fp8_e5m2, kFloat8E5m2, "float8_e5m2");
#undef MUSTER_GPU_TYPE

// Runs `enqueue(in, out, stream)` on `input` and an output of `out_count` elements, and returns the
// output.
template <class T, class F>
absl::StatusOr<std::vector<T>> RunOnDevice(NcclCommunicator& comm, const std::vector<T>& input,
                                           size_t out_count, cudaStream_t stream, F&& enqueue) {
  const absl::StatusOr<DeviceArray<T>> in = DeviceArray<T>::Of(input);
  if (!in.ok()) return in.status();
  const absl::StatusOr<DeviceArray<T>> out = DeviceArray<T>::Of(std::vector<T>(out_count));
  if (!out.ok()) return out.status();
  RETURN_IF_ERROR(enqueue(in->data(), out->data(), stream));
  RETURN_IF_ERROR(comm.Wait(stream));
  return out->Values();
}

template <class T>
absl::Status ExpectEqual(const absl::StatusOr<std::vector<T>>& got, const std::vector<T>& expected,
                         const std::string& what) {
  if (got.ok()) return ExpectEqual(*got, expected, what);
  return absl::Status(got.status().code(), absl::StrCat(what, ": ", got.status().message()));
}

// Checks an all-reduce of `count` floats.
inline absl::Status CheckAllReduce(NcclCommunicator& comm, size_t count, cudaStream_t stream,
                                   const std::string& what) {
  const auto reduced = RunOnDevice<float>(
      comm, InputsOf<float>(comm.rank(), count), count, stream,
      [&](const float* in, float* out, cudaStream_t on) {
        return comm.AllReduce(in, out, count, DataType::kFloat32, ReduceOp::kSum, on);
      });
  return ExpectEqual(reduced, ReducedOf<float>(comm.size(), 0, count, ReduceOp::kSum), what);
}

}  // namespace muster::gpu

#endif  // MUSTER_TESTS_GPU_CHECKS_TYPED_H_
