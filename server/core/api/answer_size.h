#ifndef MUSTER_SERVER_CORE_API_ANSWER_SIZE_H_
#define MUSTER_SERVER_CORE_API_ANSWER_SIZE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace muster::core {

// The largest message: protobuf counts its bytes in 31 bits.
inline constexpr uint64_t kMaxMessageBytes = (uint64_t{1} << 31) - 1;

// Returns an upper bound on the size of the message that answers a collective with `payloads`
// payloads of `bytes` in total.
inline uint64_t AnswerBytes(uint64_t bytes, uint64_t payloads) {
  constexpr uint64_t kPerPayload = 6;  // a field's tag, and its length in up to five bytes
  constexpr uint64_t kOtherFields = 16;
  return bytes + payloads * kPerPayload + kOtherFields;
}

// One rank's part of an answer.
struct Contribution {
  uint32_t rank = 0;
  uint64_t bytes = 0;
};

// Says why an answer of `answer_bytes` is too large. Names the limit, its flag and the largest
// contributions. `contributions` must not be empty.
std::string DescribeTooLarge(std::vector<Contribution> contributions, uint64_t answer_bytes,
                             uint64_t limit);

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_API_ANSWER_SIZE_H_
