// NcclCommunicator's operations that NCCL has no call for: several of its calls in one group.

#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/nccl/handle.h"
#include "client/nccl/own_value.h"
#include "client/nccl/types.h"
#include "client/src/data_plane/argument_check.h"
#include "muster/nccl.h"

namespace muster {
namespace {

using internal::ArgumentCheck;
using internal::DescribeOperation;
using internal::NcclHandle;

// One call of a group.
absl::Status Call(NcclHandle& handle, const std::string& what, NcclHandle::Call call) {
  return handle.Operate(what, call);
}

// A send and a receive, of which either may be of this rank with itself. Neither has an effect on
// no elements, and NCCL would wait for the peer all the same.
absl::Status Exchange(NcclHandle& handle, const std::string& what, const void* out,
                      size_t out_count, int to, void* in, size_t in_count, int from,
                      ncclDataType_t type, cudaStream_t stream) {
  absl::Status status;
  if (out_count > 0) {
    status = Call(handle, what, [&](ncclComm_t comm) {
      return ncclSend(out, out_count, type, to, comm, stream);
    });
  }
  if (status.ok() && in_count > 0) {
    status = Call(handle, what, [&](ncclComm_t comm) {
      return ncclRecv(in, in_count, type, from, comm, stream);
    });
  }
  return status;
}

}  // namespace

absl::Status NcclCommunicator::SendRecv(const void* out, size_t out_count, int to, void* in,
                                        size_t in_count, int from, DataType type,
                                        cudaStream_t stream) {
  absl::Status arguments =
      ArgumentCheck("SendRecv", rank(), size()).Exchange(to, out_count, from, in_count);
  if (!arguments.ok()) return arguments;
  const absl::StatusOr<ncclDataType_t> nccl_type = internal::NcclType(type);
  if (!nccl_type.ok()) return nccl_type.status();
  const std::string what = absl::StrCat(DescribeOperation("SendRecv", out_count, type), " to rank ",
                                        to, " and of ", in_count, " from rank ", from);
  return handle_->Grouped([&] {
    return Exchange(*handle_, what, out, out_count, to, in, in_count, from, *nccl_type, stream);
  });
}

absl::Status NcclCommunicator::AllToAll(const void* in, void* out, size_t count, DataType type,
                                        cudaStream_t stream) {
  const absl::StatusOr<ncclDataType_t> nccl_type = internal::NcclType(type);
  if (!nccl_type.ok()) return nccl_type.status();
  const std::string what = DescribeOperation("AllToAll", count, type);
  const size_t part = count * SizeOf(type);
  if (handle_->group().prevents_block()) {
    const size_t offset = part * rank();
    return internal::CopyOwn(
        *handle_, {static_cast<const char*>(in) + offset, static_cast<char*>(out) + offset, part},
        stream);
  }
  return handle_->Grouped([&] {
    absl::Status status;
    for (int peer = 0; peer < size() && status.ok(); ++peer) {
      status = Exchange(*handle_, what, static_cast<const char*>(in) + peer * part, count, peer,
                        static_cast<char*>(out) + peer * part, count, peer, *nccl_type, stream);
    }
    return status;
  });
}

absl::Status NcclCommunicator::AllGather(const void* in, absl::Span<const size_t> counts, void* out,
                                         DataType type, cudaStream_t stream) {
  const size_t own = counts.size() == static_cast<size_t>(size()) ? counts[rank()] : 0;
  const size_t total = std::accumulate(counts.begin(), counts.end(), size_t{0});
  absl::Status arguments = ArgumentCheck("AllGather", rank(), size()).Counts(counts, own, total);
  if (!arguments.ok()) return arguments;
  const absl::StatusOr<ncclDataType_t> nccl_type = internal::NcclType(type);
  if (!nccl_type.ok()) return nccl_type.status();
  const std::string what = DescribeOperation("AllGather", total, type);
  if (handle_->group().prevents_block()) {
    const size_t before = std::accumulate(counts.begin(), counts.begin() + rank(), size_t{0});
    return internal::CopyOwn(
        *handle_, {in, static_cast<char*>(out) + before * SizeOf(type), own * SizeOf(type)},
        stream);
  }
  return handle_->Grouped([&] {
    absl::Status status;
    char* next = static_cast<char*>(out);
    for (int root = 0; root < size() && status.ok(); ++root) {
      const size_t count = counts[root];
      if (count > 0) {
        status = Call(*handle_, what, [&](ncclComm_t comm) {
          return ncclBroadcast(root == rank() ? in : next, next, count, *nccl_type, root, comm,
                               stream);
        });
      }
      next += count * SizeOf(type);
    }
    return status;
  });
}

}  // namespace muster
