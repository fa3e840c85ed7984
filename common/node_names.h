#ifndef MUSTER_COMMON_NODE_NAMES_H_
#define MUSTER_COMMON_NODE_NAMES_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"

// What texts for people call a node. The wire, JSON and metrics carry the node's whole id.
//
//   id                     text           text where another node's host has the same name
//   "vm/58b986b6-87fa-..."  "host vm"      "host vm/58b9"
//   "n1" (--node-id n1)     "node 'n1'"    "node 'n1'"
//
// Pure.
namespace muster {

// The id of a node that was given none: the host's name, and the boot id of its kernel, which tells
// hosts of one name apart.
std::string MakeNodeId(absl::string_view hostname, absl::string_view boot_id);

// The nodes of one job, and the shortest names that tell them apart.
class NodeNames {
 public:
  // Counts the node once more. Only ids of MakeNodeId() are kept: a given id is a name already.
  void Add(absl::string_view node_id);
  // Takes back one Add().
  void Remove(absl::string_view node_id);

  // "vm", "vm/58b9", "n1": for columns. The id need not have been added.
  std::string NameOf(absl::string_view node_id) const;
  // "host vm", "host vm/58b9", "node 'n1'".
  std::string Describe(absl::string_view node_id) const;
  // The same, and the host where the name does not say it: "node 'n1', host vm".
  std::string DescribePlace(absl::string_view node_id, absl::string_view hostname) const;

  // Describes the node of a launcher, which calls a node that was given no id by its host's name.
  std::string DescribeLaunchersNode(absl::string_view name) const;

 private:
  // By host: how often each boot id was added.
  std::map<std::string, std::map<std::string, int>, std::less<>> hosts_;
};

}  // namespace muster

#endif  // MUSTER_COMMON_NODE_NAMES_H_
