#ifndef MUSTER_CLIENT_SRC_RENDEZVOUS_H_
#define MUSTER_CLIENT_SRC_RENDEZVOUS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/src/numbered_group.h"
#include "muster/call_options.h"
#include "muster/group.h"

namespace muster::internal {

// Every rank's card, in the group's order, and the numbered group in which they were exchanged.
// What else a backend's creation needs to say goes through that one, which is to be kept where the
// creation ends well.
struct Rendezvous {
  NumberedGroup numbered;
  std::vector<std::string> cards;
};

// Gives every rank's card (what its peers need to reach it) to every rank. It must be the first
// collective of every backend's creation: it is where ranks learn that they chose different
// backends. A rank that cannot take part passes its error as its card, so that the others hear of
// it instead of waiting.
//
// Errors: `card`'s own; FAILED_PRECONDITION naming the ranks and backends (or SDK versions) that
// differ, or the rank that cannot take part and why; those of Group.
absl::StatusOr<Rendezvous> ExchangeCards(const Group& group, absl::string_view backend,
                                         const absl::StatusOr<std::string>& card,
                                         const CallOptions& options);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_RENDEZVOUS_H_
