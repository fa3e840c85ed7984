#ifndef MUSTER_SERVER_CORE_BYTE_BUDGET_H_
#define MUSTER_SERVER_CORE_BYTE_BUDGET_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace muster::core {

// Counts the payload bytes that the daemon holds for its members, against --max-held-bytes.
class ByteBudget {
 public:
  explicit ByteBudget(uint64_t limit) : limit_(limit) {}

  // RESOURCE_EXHAUSTED, and nothing is counted, if the limit does not allow `bytes` more.
  absl::Status Reserve(uint64_t bytes) {
    if (bytes > limit_ - held_) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "the coordinator holds ", held_, " bytes of payloads and results; ", bytes,
          " more would pass its limit of ", limit_, " (musterd --max-held-bytes raises it)"));
    }
    held_ += bytes;
    return absl::OkStatus();
  }

  void Release(uint64_t bytes) { held_ -= bytes; }

  uint64_t held() const { return held_; }

 private:
  const uint64_t limit_;
  uint64_t held_ = 0;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_BYTE_BUDGET_H_
