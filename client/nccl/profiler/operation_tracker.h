#ifndef MUSTER_CLIENT_NCCL_PROFILER_OPERATION_TRACKER_H_
#define MUSTER_CLIENT_NCCL_PROFILER_OPERATION_TRACKER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "common/memory/activity_publisher.h"

namespace muster::nccl_profiler {

// The collectives of one NCCL communicator: which ones the host has given to the GPU, and which
// ones the GPU has done. Point-to-point operations are left out, since their numbers naturally
// differ from rank to rank. Thread-safe.
class OperationTracker {
 public:
  explicit OperationTracker(const std::string& name) : activity_(name) {}

  // Begins a collective whose kernel has parts on `channels` channels. Returns its number, from 1
  // on.
  uint64_t Begin(std::string_view function, uint64_t bytes, int channels);
  // Ends one part of a collective; the last part ends the collective. Ignores numbers that are not
  // in progress.
  void EndChannel(uint64_t number);

 private:
  // More than a GPU accepts before the host must wait. Older operations count as done.
  static constexpr size_t kInProgress = 4096;
  struct Operation {
    uint64_t number = 0;
    int channels = 0;  // parts that are not done
  };

  std::mutex mutex_;
  ActivityPublisher activity_;
  uint64_t begun_ = 0;
  std::array<Operation, kInProgress> operations_;
};

// Returns the bytes of `count` elements of an NCCL type, by the type's name ("ncclFloat32"), or 0
// for an unknown name.
uint64_t BytesOf(std::string_view data_type, uint64_t count);

}  // namespace muster::nccl_profiler

#endif  // MUSTER_CLIENT_NCCL_PROFILER_OPERATION_TRACKER_H_
