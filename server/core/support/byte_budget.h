#ifndef MUSTER_SERVER_CORE_SUPPORT_BYTE_BUDGET_H_
#define MUSTER_SERVER_CORE_SUPPORT_BYTE_BUDGET_H_

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace muster::core {

// The payload bytes that the daemon holds for its members, counted against --max-held-bytes. They
// are contributions, results of leases, claims of groups after a restart, and the message that
// answers a collective. That message is made once for all ranks and holds the contributions a
// second time.
class ByteBudget {
 public:
  explicit ByteBudget(uint64_t limit) : limit_(limit) {}

  // Returns RESOURCE_EXHAUSTED if the limit does not allow `bytes` more once `released` of the held
  // bytes are released. Counts nothing.
  absl::Status Check(uint64_t bytes, uint64_t released = 0) const {
    const uint64_t held = held_ - released;
    if (bytes == 0 || (held <= limit_ && bytes <= limit_ - held)) return absl::OkStatus();
    return absl::ResourceExhaustedError(absl::StrCat(
        "the coordinator holds ", held, " bytes of payloads and results; ", bytes,
        " more would pass its limit of ", limit_, " (musterd --max-held-bytes raises it)"));
  }

  // Counts the bytes if Check() allows them, and returns its result.
  absl::Status Reserve(uint64_t bytes) {
    absl::Status room = Check(bytes);
    if (room.ok()) held_ += bytes;
    return room;
  }

  // Counts bytes that have been checked, or that are held whatever the limit says.
  void Charge(uint64_t bytes) { held_ += bytes; }
  void Release(uint64_t bytes) { held_ -= bytes; }

  uint64_t held() const { return held_; }
  uint64_t room() const { return limit_ - held_; }

 private:
  const uint64_t limit_;
  uint64_t held_ = 0;
};

// Bytes that one holder has charged to a budget. The destructor releases them. The budget must
// outlive this object.
class ByteCharge {
 public:
  explicit ByteCharge(ByteBudget* budget) : budget_(budget) {}
  ~ByteCharge() { Set(0); }
  ByteCharge(ByteCharge&& other) noexcept
      : budget_(other.budget_), bytes_(std::exchange(other.bytes_, 0)) {}
  ByteCharge& operator=(ByteCharge&& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  const ByteBudget& budget() const { return *budget_; }
  uint64_t bytes() const { return bytes_; }
  // Makes the charge `bytes`: charges or releases the difference. Does not check the limit:
  // ByteBudget::Check() does.
  void Set(uint64_t bytes) {
    budget_->Charge(bytes);
    budget_->Release(std::exchange(bytes_, bytes));
  }

 private:
  ByteBudget* budget_;
  uint64_t bytes_ = 0;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_SUPPORT_BYTE_BUDGET_H_
