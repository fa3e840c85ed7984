#ifndef MUSTER_CLIENT_NCCL_PROFILER_OPERATIONS_H_
#define MUSTER_CLIENT_NCCL_PROFILER_OPERATIONS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "common/published_activity.h"

namespace muster::nccl_profiler {

// The collectives of one communicator of NCCL: which the host has given to the GPU, and which of
// these the GPU has done. Point-to-point operations are not among them: their numbers differ from
// rank to rank by nature. Thread-safe.
class Operations {
 public:
  explicit Operations(const std::string& name) : activity_(name) {}

  // One begins, whose kernel has parts on so many channels; returns its number, from 1 on.
  uint64_t Begin(std::string_view function, uint64_t bytes, int channels);
  // One of its parts is done; the last one ends it. Numbers that are not in progress are ignored.
  void EndChannel(uint64_t number);

 private:
  // More than a GPU takes before the host must wait. What is older counts as done.
  static constexpr size_t kInProgress = 4096;
  struct Operation {
    uint64_t number = 0;
    int channels = 0;  // that are not done
  };

  std::mutex mutex_;
  PublishedActivity activity_;
  uint64_t begun_ = 0;
  std::array<Operation, kInProgress> operations_;
};

// What `count` elements of a type of NCCL take, by the type's name ("ncclFloat32"); 0 if it is not
// known.
uint64_t BytesOf(std::string_view data_type, uint64_t count);

}  // namespace muster::nccl_profiler

#endif  // MUSTER_CLIENT_NCCL_PROFILER_OPERATIONS_H_
