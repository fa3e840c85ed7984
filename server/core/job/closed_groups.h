#ifndef MUSTER_SERVER_CORE_JOB_CLOSED_GROUPS_H_
#define MUSTER_SERVER_CORE_JOB_CLOSED_GROUPS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/core/api/basic_types.h"

namespace muster::core {

// Groups that all their ranks have released, until all ranks know it (docs/protocol-failure.md,
// "How groups are forgotten"). Meanwhile the coordinator serves no call of these groups. Also holds
// the news for each rank, so that one event carries all news of a step.
class ClosedGroups {
 public:
  struct Notice {
    std::vector<std::string> closed;
    std::vector<std::string> settled;
    friend bool operator==(const Notice& a, const Notice& b) {
      return a.closed == b.closed && a.settled == b.settled;
    }
  };

  size_t size() const { return groups_.size(); }
  // Returns the sum of the numbers of ranks that have known these groups.
  size_t ranks() const { return ranks_; }

  // Adds a group that `ranks` have known and that `aware` of them know to be closed. `name` is
  // empty if only the digest is known. Tells the other ranks that the group is closed. If all are
  // aware, tells all that it is settled.
  void Add(const std::string& digest, const GroupName& name, const std::vector<uint32_t>& ranks,
           const std::set<uint32_t>& aware);

  bool Contains(const std::string& digest) const { return groups_.count(digest) > 0; }
  // Returns whether a closed group has this name and this rank has known it.
  bool ContainsName(const std::string& name, uint32_t rank) const;

  // Notes that the rank knows that the group is closed. Returns false if no such group is here.
  bool Acknowledge(const std::string& digest, uint32_t rank);
  // Tells the rank again that the group is closed.
  void Remind(const std::string& digest, uint32_t rank);
  // Does the same, if the rank was not among the ranks that have known the group.
  void RemindOutsider(const std::string& digest, uint32_t rank);
  // Notes that the rank has attached again and claims only these digests. So it has forgotten all
  // other groups.
  void AcknowledgeAllBut(const std::set<std::string>& claimed, uint32_t rank);

  // Tells the rank that it can forget a group that is not known here.
  void Settle(const std::string& digest, uint32_t rank) {
    notices_[rank].settled.push_back(digest);
  }

  // Returns the news for each rank since the last call.
  std::map<uint32_t, Notice> TakeNotices() { return std::exchange(notices_, {}); }

 private:
  struct Group {
    std::string name;
    std::set<uint32_t> ranks;
    std::set<uint32_t> unaware;
  };
  using Groups = std::map<std::string, Group>;

  Groups::iterator SettleIfKnown(Groups::iterator group);

  Groups groups_;  // by digest
  absl::flat_hash_map<std::string, std::set<std::string>> by_name_;
  size_t ranks_ = 0;
  std::map<uint32_t, Notice> notices_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_JOB_CLOSED_GROUPS_H_
