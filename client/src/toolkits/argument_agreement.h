#ifndef MUSTER_CLIENT_SRC_TOOLKITS_ARGUMENT_AGREEMENT_H_
#define MUSTER_CLIENT_SRC_TOOLKITS_ARGUMENT_AGREEMENT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "muster/call_options.h"
#include "muster/group.h"

namespace muster::internal {

// The arguments of one rank.
struct RankArguments {
  // Descriptions that must be equal on all ranks, by name: "float32 [2, 3]". A name may be empty.
  std::map<std::string, std::string> items;
  // Bytes for the other ranks.
  std::string value;
};

// The arguments of all ranks, after they have agreed.
struct AgreedArguments {
  std::vector<std::string> values;  // of all ranks, in rank order
  // The number of the NumberedGroup in which the work goes on.
  uint64_t number = 0;
};

// Makes all ranks agree before a helper does its work, in a collective of `world` named
// `operation`. Anything that would make the work hang or fail on some ranks ends it here on all of
// them:
//   * If a rank passes an error, all ranks return it with the rank's name.
//   * If items differ, all ranks return INVALID_ARGUMENT with the ranks and what they pass.
// Other errors are those that Group documents. If a rank times out, it may call again with the same
// items. Its first value is used then. Only a digest of the items travels while they agree.
absl::StatusOr<AgreedArguments> AgreeOnArguments(const Group& world, absl::string_view operation,
                                                 const absl::StatusOr<RankArguments>& mine,
                                                 const CallOptions& options, CallSite site);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_TOOLKITS_ARGUMENT_AGREEMENT_H_
