#ifndef MUSTER_CLIENT_SRC_PROTOCOL_MESSAGES_NAMED_MEMBERS_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_MESSAGES_NAMED_MEMBERS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "muster/v1/coordinator.pb.h"

namespace muster::internal {

// Notes in an error of the coordinator which members it names (FactsOf). On the wire, an error is a
// code and a text. The coordinator writes names and lists always in the same way:
//
//   rank 3 (node 'n1', host h, pid 77) was lost at 12:00:01.500Z: CAUSE; ACTIVITY; also lost: ...
//   Barrier('x') op 12 of the world waited 5s; missing 2 of 8: ranks 1,3; rank 1 (host h, pid 7),
//   ...
//
// `place` is the caller's place in the epoch that the error is about. Only a member of its roster
// is a name, so that no label of the program passes for one. Null: the caller has not entered that
// epoch. `operation` is the caller's name for its call, which may contain labels: the text of a
// time-out, which begins with it, is read behind it. Returns an error that names nobody unchanged.
// Pure.
absl::Status WithNamedMembers(const absl::Status& error, const v1::JoinResponse* place,
                              absl::string_view operation = "");

// Does the same for an error that is about no epoch, as those of Join and Rejoin. It may name other
// processes than the members of the caller's latest epoch. `place` is null before the first.
absl::Status WithNamedProcesses(const absl::Status& error, const v1::JoinResponse* place);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_MESSAGES_NAMED_MEMBERS_H_
