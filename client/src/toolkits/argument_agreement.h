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

// What a rank brings to a meeting.
struct RankArguments {
  // What must be the same on all ranks, by name: "float32 [2, 3]". A name may be empty.
  std::map<std::string, std::string> items;
  // Bytes for the others.
  std::string value;
};

// What comes of a meeting.
struct AgreedArguments {
  std::vector<std::string> values;  // of all, in rank order
  // Agreed upon, for the NumberedGroup in which the work goes on.
  uint64_t number = 0;
};

// All ranks meet before a helper does its work, as a collective of `world` named `operation`. What
// would make the work hang or fail on some of them ends it here, on all of them at once: an error
// in the place of an arguments, with the name of its rank; and items that are not the same
// everywhere: INVALID_ARGUMENT with the ranks and what they pass. Other errors are those of Group;
// after one by which a rank has left the meeting, it comes again with the same items, and what it
// has sent the first time counts. Only a digest of the items travels as long as they agree.
absl::StatusOr<AgreedArguments> AgreeOnArguments(const Group& world, absl::string_view operation,
                                                 const absl::StatusOr<RankArguments>& mine,
                                                 const CallOptions& options, CallSite site);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_TOOLKITS_ARGUMENT_AGREEMENT_H_
