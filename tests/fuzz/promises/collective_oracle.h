#ifndef MUSTER_TESTS_FUZZ_PROMISES_COLLECTIVE_ORACLE_H_
#define MUSTER_TESTS_FUZZ_PROMISES_COLLECTIVE_ORACLE_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "muster/v1/coordinator.pb.h"
#include "server/core/api/effects.h"
#include "server/core/api/requests.h"

namespace muster::fuzz {

// Checks that a collective is answered OK only if a call of every rank of its group is parked in
// it. Checks only epochs that this daemon has formed: about others the daemon knows only what their
// members claim. The daemon also believes members about groups on one node, if they offer to
// complete collectives there. Such groups are not checked either.
class CollectiveOracle {
 public:
  explicit CollectiveOracle(bool commits_on_node) : commits_on_node_(commits_on_node) {}

  // Forgets everything: a new daemon knows no epoch and no session.
  void Restart();
  // Notes that the daemon has formed an epoch with this nonce, or will.
  void Formed(uint64_t nonce) { formed_.insert(nonce); }
  void LearnRoster(const v1::JoinResponse& place);
  void LearnSession(uint64_t session, const std::string& incarnation);

  // Notes a call. `names`: if it is accepted, its group has the ranks that it names. This is not so
  // for parts of a NodeCollective.
  void Sent(core::WaiterId call, const core::CollectiveRequest& request, bool names = true);
  void Cancelled(core::WaiterId call) { parked_.erase(call); }
  // Checks all replies of one step. Returns a description of the error, or "" if there is none.
  std::string Answered(const std::vector<core::Reply>& replies);

 private:
  // The epoch's nonce, the group's name and ranks, and the sequence number.
  using Key = std::tuple<uint64_t, core::GroupName, uint64_t>;
  struct Parked {
    Key key;
    std::string incarnation;
    bool names;
  };

  // Returns the group that the call means, with its ranks if they are known.
  core::GroupName GroupOf(uint64_t nonce, const core::GroupName& named,
                          const std::string& incarnation) const;
  void LearnGroups(const std::vector<core::Reply>& replies);
  Key Resolved(const Parked& parked) const;
  // Returns the key as calls without ranks name it.
  static Key ByName(const Key& key);
  std::vector<uint32_t> RanksOf(const Key& key) const;
  bool IsOnOneNode(const Key& key) const;
  std::string CheckAllPresent(const Key& key) const;
  bool IsPresent(const Key& key, const std::string& incarnation) const;

  struct Rank {
    std::string incarnation;
    std::string node;
  };

  const bool commits_on_node_;
  std::set<uint64_t> formed_;
  std::map<uint64_t, std::vector<Rank>> rosters_;  // by nonce
  std::map<uint64_t, std::string> sessions_;
  std::map<core::WaiterId, Parked> parked_;
  // Groups named by accepted calls, with the epoch's nonce.
  std::set<std::pair<uint64_t, core::GroupName>> groups_;
  std::set<Key> complete_;
};

}  // namespace muster::fuzz

#endif  // MUSTER_TESTS_FUZZ_PROMISES_COLLECTIVE_ORACLE_H_
