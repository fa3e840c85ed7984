#ifndef MUSTER_TESTS_FUZZ_NUMBER_ORACLE_H_
#define MUSTER_TESTS_FUZZ_NUMBER_ORACLE_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "muster/v1/coordinator.pb.h"
#include "server/core/options.h"
#include "server/core/requests.h"

namespace muster::fuzz {

// Epoch numbers and lease tokens of one daemon only grow, from the wall clock on, whatever members
// claim; and what it gives out, its successor takes back in a claim. Each check returns what is
// wrong, in words; empty if nothing is.
class NumberOracle {
 public:
  explicit NumberOracle(core::Options options) : options_(std::move(options)) {}

  // Another daemon follows, whose instance is the next number.
  void Restart();
  void Formed(uint64_t nonce) { formed_.insert(nonce); }
  std::string CheckEpoch(core::Time now, const v1::JoinResponse& place);
  // A request is known by its member and number; it may be granted the same token again.
  using LeaseRequest = std::pair<std::string, uint64_t>;
  std::string CheckGrant(core::Time now, const LeaseRequest& request, uint64_t token);

 private:
  std::string CheckClaimable(core::Time now, const v1::AttachRequest& request) const;

  core::Options options_;      // of the daemon that runs
  std::set<uint64_t> formed_;  // nonces
  std::set<uint64_t> seen_;    // those that somebody has a place in
  uint64_t highest_epoch_ = 0;
  uint64_t highest_token_ = 0;
  std::map<uint64_t, LeaseRequest> grants_;
};

}  // namespace muster::fuzz

#endif  // MUSTER_TESTS_FUZZ_NUMBER_ORACLE_H_
