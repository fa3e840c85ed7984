#ifndef MUSTER_COMMON_NAMES_STORE_WAITS_H_
#define MUSTER_COMMON_NAMES_STORE_WAITS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

// Texts about waits in the job's store, for the daemon and `muster`. Pure.
namespace muster {

// Returns "ranks 3,5 and the launchers of n1, n2 have waited". `ranks` ascend. `launcher_nodes` are
// names for readers, of which at most four are shown. `others` clients have no rank.
std::string DescribeStoreClients(const std::vector<uint32_t>& ranks,
                                 const std::vector<std::string>& launcher_nodes, uint32_t others);

// Returns what a rank waits in, for a column: "the store (key 'port' has not been set)".
std::string DescribeWaitInStore(absl::string_view missing);

}  // namespace muster

#endif  // MUSTER_COMMON_NAMES_STORE_WAITS_H_
