#ifndef MUSTER_SERVER_CORE_CLOSED_GROUPS_H_
#define MUSTER_SERVER_CORE_CLOSED_GROUPS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/core/vocabulary.h"

namespace muster::core {

// Groups that all their ranks have released, until all ranks know it (docs/protocol-failure.md,
// "How groups are forgotten"). Meanwhile the coordinator serves no call of these groups. Also holds
// what the ranks have yet to be told, so that the news of one step go together.
class ClosedGroups {
 public:
  struct News {
    std::vector<std::string> closed;
    std::vector<std::string> settled;
    friend bool operator==(const News& a, const News& b) {
      return a.closed == b.closed && a.settled == b.settled;
    }
  };

  size_t size() const { return groups_.size(); }
  // How many ranks have known these groups, together.
  size_t ranks() const { return ranks_; }

  // `name` is empty where the group is known by its digest only. `ranks` have known it; `aware` are
  // those of them that know that it is closed. Tells the others, or all that it is settled.
  void Add(const std::string& digest, const GroupName& name, const std::vector<uint32_t>& ranks,
           const std::set<uint32_t>& aware);

  bool Contains(const std::string& digest) const { return groups_.count(digest) > 0; }
  // Whether a closed group has this name, and this rank has known it.
  bool ContainsName(const std::string& name, uint32_t rank) const;

  // The rank knows that the group is closed. False: no such group is there.
  bool Acknowledge(const std::string& digest, uint32_t rank);
  // Tells the rank of a closed group once more.
  void Remind(const std::string& digest, uint32_t rank);
  // The same, if it was none of those that have known the group.
  void RemindStranger(const std::string& digest, uint32_t rank);
  // The rank has attached anew, and claims these digests of all that it knows: it has forgotten
  // the others.
  void AcknowledgeAllBut(const std::set<std::string>& claimed, uint32_t rank);

  // Tells the rank that it can forget a group that is not known here.
  void Settle(const std::string& digest, uint32_t rank) { news_[rank].settled.push_back(digest); }

  // What each rank is to be told, since this was last asked.
  std::map<uint32_t, News> TakeNews() { return std::exchange(news_, {}); }

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
  std::map<uint32_t, News> news_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_CLOSED_GROUPS_H_
