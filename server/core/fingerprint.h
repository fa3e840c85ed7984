#ifndef MUSTER_SERVER_CORE_FINGERPRINT_H_
#define MUSTER_SERVER_CORE_FINGERPRINT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/core/vocabulary.h"

// What the members of an epoch run with, and who runs with something else than the others: often
// why a job hangs, or is slow, later on.
namespace muster::core {

// By name: "NCCL" -> "2.28.9", "NCCL_ALGO" -> "Ring".
using Facts = std::map<std::string, std::string>;

// As a member says when it asks for a place.
struct Fingerprint {
  std::shared_ptr<const Facts> facts;          // never null
  std::optional<Time> clock;                   // its wall clock when it said so
  std::optional<uint64_t> free_shared_memory;  // bytes in /dev/shm
};

// Lets members that say the same share it. Sees no more than the last one, which is enough where
// most are alike.
class FactStore {
 public:
  std::shared_ptr<const Facts> Share(std::shared_ptr<const Facts> facts);

 private:
  std::shared_ptr<const Facts> last_;
};

// A member of an epoch that forms.
struct Fingerprinted {
  uint32_t rank = 0;
  std::string node_id;
  std::shared_ptr<const Facts> facts;  // null: it has not said
  // How far its clock is ahead of the coordinator's, or was when it came.
  std::optional<absl::Duration> clock_ahead;
  std::optional<uint64_t> free_shared_memory;
};

// What is odd about them, in words: "rank 9 (node 'n2') has NCCL 2.27.3, the other 15 have 2.28.9".
// At most 20 texts. What differs by nature, from most members to most others, is none of it.
std::vector<std::string> DescribeOdd(const std::vector<Fingerprinted>& members);

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_FINGERPRINT_H_
