#ifndef MUSTER_COMMON_NAMES_NODE_NAMES_H_
#define MUSTER_COMMON_NAMES_NODE_NAMES_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"

// Short names of nodes for texts that people read. The wire, JSON and metrics carry the whole id.
//
//   id                      text           text, if another node has the same host name
//   "vm/58b986b6-87fa-..."  "host vm"      "host vm/58b9"
//   "n1" (--node-id n1)     "node 'n1'"    "node 'n1'"
//
// Pure.
namespace muster {

// Returns the id of a node that was given none: the host's name, and the boot id of its kernel,
// which tells hosts of the same name apart.
std::string MakeNodeId(absl::string_view hostname, absl::string_view boot_id);

// The nodes of one job, and the shortest names that tell them apart. Not thread-safe.
class NodeNames {
 public:
  // Adds the node once more. Keeps only ids of MakeNodeId(), since a given id is a name already.
  void Add(absl::string_view node_id);
  // Undoes one Add().
  void Remove(absl::string_view node_id);

  // Returns "vm", "vm/58b9" or "n1", for columns. The id need not have been added.
  std::string NameOf(absl::string_view node_id) const;
  // Returns "host vm", "host vm/58b9" or "node 'n1'".
  std::string Describe(absl::string_view node_id) const;
  // As Describe(), followed by the host if the name does not contain it: "node 'n1', host vm".
  std::string DescribeWithHost(absl::string_view node_id, absl::string_view hostname) const;

  // Describes a launcher's node. A launcher calls a node that was given no id by its host's name.
  std::string DescribeLauncherNode(absl::string_view name) const;

 private:
  // The number of Add() calls for each boot id, by host.
  std::map<std::string, std::map<std::string, int>, std::less<>> hosts_;
};

}  // namespace muster

#endif  // MUSTER_COMMON_NAMES_NODE_NAMES_H_
