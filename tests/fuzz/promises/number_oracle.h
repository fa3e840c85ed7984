#ifndef MUSTER_TESTS_FUZZ_PROMISES_NUMBER_ORACLE_H_
#define MUSTER_TESTS_FUZZ_PROMISES_NUMBER_ORACLE_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "muster/v1/coordinator.pb.h"
#include "server/core/api/options.h"
#include "server/core/api/requests.h"

namespace muster::fuzz {

// Checks that the epoch numbers and lease tokens of one daemon only grow, starting at the wall
// clock, whatever members claim. Also checks that the next daemon accepts each number in a claim.
// The checks return a description of the error, or "" if there is none.
class NumberOracle {
 public:
  explicit NumberOracle(core::Options options) : options_(std::move(options)) {}

  // Notes that another daemon follows. Its instance is the next number.
  void Restart();
  void Formed(uint64_t nonce) { formed_.insert(nonce); }
  std::string CheckEpoch(core::Time now, const v1::JoinResponse& place);
  // The member and number that identify a request. The same request may get the same token again.
  using LeaseRequest = std::pair<std::string, uint64_t>;
  std::string CheckGrant(core::Time now, const LeaseRequest& request, uint64_t token);

 private:
  std::string CheckClaimable(core::Time now, const v1::AttachRequest& request) const;

  core::Options options_;      // of the running daemon
  std::set<uint64_t> formed_;  // nonces
  std::set<uint64_t> seen_;    // nonces of epochs that some member has a place in
  uint64_t highest_epoch_ = 0;
  uint64_t highest_token_ = 0;
  std::map<uint64_t, LeaseRequest> grants_;
};

}  // namespace muster::fuzz

#endif  // MUSTER_TESTS_FUZZ_PROMISES_NUMBER_ORACLE_H_
