#ifndef MUSTER_TESTS_FUZZ_COLLECTIVE_ORACLE_H_
#define MUSTER_TESTS_FUZZ_COLLECTIVE_ORACLE_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "muster/v1/coordinator.pb.h"
#include "server/core/effects.h"
#include "server/core/requests.h"

namespace muster::fuzz {

// A collective is answered OK only when a call of every rank of its group is parked in it. Holds of
// epochs that the daemon has formed itself: of others it knows what their members say.
class CollectiveOracle {
 public:
  // A new daemon, which knows no epoch and no session.
  void Restart();
  // The daemon has formed an epoch of this nonce, or will.
  void Formed(uint64_t nonce) { formed_.insert(nonce); }
  void LearnRoster(const v1::JoinResponse& place);
  void LearnSession(uint64_t session, const std::string& incarnation);

  // `names`: where it is accepted, its group's ranks are those that it names. Nobody says so of a
  // part of a NodeCollective.
  void Sent(core::WaiterId call, const core::CollectiveRequest& request, bool names = true);
  void Cancelled(core::WaiterId call) { parked_.erase(call); }
  // All replies of one step. Returns what is wrong with them, in words; empty if nothing is.
  std::string Answered(const std::vector<core::Reply>& replies);

 private:
  // Epoch's nonce, group's name and ranks, sequence number.
  using Key = std::tuple<uint64_t, core::GroupName, uint64_t>;
  struct Parked {
    Key key;
    std::string incarnation;
    bool names;
  };

  // The group that the call means, with its ranks; without them where it is not known.
  core::GroupName GroupOf(uint64_t nonce, const core::GroupName& named,
                          const std::string& incarnation) const;
  void LearnGroups(const std::vector<core::Reply>& replies);
  Key Resolved(const Parked& parked) const;
  // As calls without ranks name it.
  static Key ByName(const Key& key);
  std::string CheckAllPresent(const Key& key) const;
  bool IsPresent(const Key& key, const std::string& incarnation) const;

  std::set<uint64_t> formed_;
  std::map<uint64_t, std::vector<std::string>> rosters_;  // incarnations by rank, by nonce
  std::map<uint64_t, std::string> sessions_;
  std::map<core::WaiterId, Parked> parked_;
  // Named by calls that were accepted, with the epoch's nonce.
  std::set<std::pair<uint64_t, core::GroupName>> groups_;
  std::set<Key> complete_;
};

}  // namespace muster::fuzz

#endif  // MUSTER_TESTS_FUZZ_COLLECTIVE_ORACLE_H_
