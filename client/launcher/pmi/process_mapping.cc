#include "client/launcher/pmi/process_mapping.h"

#include "absl/strings/str_cat.h"

namespace muster::launcher::pmi {

std::string ProcessMapping(const std::vector<int>& ranks_per_node) {
  std::string mapping = "(vector";
  for (size_t first = 0; first < ranks_per_node.size();) {
    size_t end = first;
    while (end < ranks_per_node.size() && ranks_per_node[end] == ranks_per_node[first]) ++end;
    absl::StrAppend(&mapping, ",(", first, ",", end - first, ",", ranks_per_node[first], ")");
    first = end;
  }
  return mapping + ")";
}

}  // namespace muster::launcher::pmi
