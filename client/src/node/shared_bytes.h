#ifndef MUSTER_CLIENT_SRC_NODE_SHARED_BYTES_H_
#define MUSTER_CLIENT_SRC_NODE_SHARED_BYTES_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace muster::internal {

using SharedWord = std::atomic<uint64_t>;
static_assert(SharedWord::is_always_lock_free && sizeof(SharedWord) == sizeof(uint64_t));

// A string in shared memory: its length and its bytes, stored in atomic words.
//
// The owner may overwrite the string while another process copies it. The caller must find that out
// from the word of the slot (a seqlock). Read() trusts nothing: no length or byte in the area can
// make it read outside of it.
class SharedBytes {
 public:
  // Wraps an area of `count` words. The first one holds the length.
  SharedBytes(SharedWord* words, size_t count) : words_(words), count_(count) {}

  size_t capacity() const { return (count_ - 1) * sizeof(uint64_t); }

  // Stores `bytes`, which must fit. Calls `step` where tests let another member run.
  template <typename Step>
  void Write(absl::string_view bytes, Step step) {
    words_[0].store(bytes.size(), std::memory_order_relaxed);
    for (size_t at = 0; at < bytes.size(); at += sizeof(uint64_t)) {
      if (at % kStep == 0) step();
      uint64_t word = 0;
      std::memcpy(&word, &bytes[at], std::min(bytes.size() - at, sizeof word));
      words_[1 + at / sizeof word].store(word, std::memory_order_relaxed);
    }
  }

  // Returns a copy, or nullopt if Write() cannot have written what is there.
  template <typename Step>
  std::optional<std::string> Read(Step step) const {
    const uint64_t size = words_[0].load(std::memory_order_relaxed);
    if (size > capacity()) return std::nullopt;
    std::string bytes(size, '\0');
    for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
      if (at % kStep == 0) step();
      const uint64_t word = words_[1 + at / sizeof word].load(std::memory_order_relaxed);
      std::memcpy(&bytes[at], &word, std::min<size_t>(size - at, sizeof word));
    }
    return bytes;
  }

 private:
  static constexpr size_t kStep = 64;

  SharedWord* const words_;
  const size_t count_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_NODE_SHARED_BYTES_H_
