#ifndef MUSTER_SERVER_CORE_API_MEMBER_FINGERPRINT_H_
#define MUSTER_SERVER_CORE_API_MEMBER_FINGERPRINT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/core/api/basic_types.h"

// Fingerprints say what the members of an epoch run with. A member that runs with something else
// than the others is often why a job hangs, or is slow, later on.
namespace muster::core {

// Versions and settings by name: "NCCL" -> "2.28.9", "NCCL_ALGO" -> "Ring".
using Facts = std::map<std::string, std::string>;

// A member's description of what it runs with, sent when it asks for a place.
struct Fingerprint {
  std::shared_ptr<const Facts> facts;          // never null
  std::optional<Time> clock;                   // its wall clock at the time of sending
  std::optional<uint64_t> free_shared_memory;  // bytes in /dev/shm
};

// A store that makes members with equal facts share one copy. It compares with the last facts only,
// which is enough because most members are alike.
class FactsInterner {
 public:
  std::shared_ptr<const Facts> Intern(std::shared_ptr<const Facts> facts);

 private:
  std::shared_ptr<const Facts> last_;
};

// A member of an epoch that forms, with its fingerprint.
struct FingerprintedMember {
  uint32_t rank = 0;
  std::string node_id;
  std::shared_ptr<const Facts> facts;  // null if it has sent none
  // How far its clock was ahead of the coordinator's when its Join came.
  std::optional<absl::Duration> clock_ahead;
  std::optional<uint64_t> free_shared_memory;
};

// Returns the differences between the members, in words, at most 20: "rank 9 (node 'n2') has NCCL
// 2.27.3, the other 15 have 2.28.9". Leaves out facts that differ from most members to most others.
std::vector<std::string> DescribeMismatches(const std::vector<FingerprintedMember>& members);

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_API_MEMBER_FINGERPRINT_H_
