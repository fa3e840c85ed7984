#ifndef MUSTER_CLIENT_SRC_JOB_NUMBERED_GROUP_H_
#define MUSTER_CLIENT_SRC_JOB_NUMBERED_GROUP_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "muster/call_options.h"
#include "muster/group.h"

namespace muster::internal {

// The ranks of a group once more, as a group of its own with a number, for what takes several
// collectives, or sends what a second try could not send again: addresses, ids, outcomes. A
// collective that was sent must be repeated until it completes, so on the group itself one that has
// timed out would stand in the way of every later try. Here a try that fails is left behind with
// its number.
//
// Ranks may not agree on which tries have failed. So they tell each other the next number that they
// know of to be good, in a collective of the group itself whose content is the same however often
// it is repeated; the highest counts.
class NumberedGroup {
 public:
  // What this rank tells the others.
  static uint64_t NextNumber(const Group& of);

  // `number` is the highest that a rank has told.
  NumberedGroup(const Group& of, uint64_t number);
  NumberedGroup(NumberedGroup&&) noexcept;
  NumberedGroup& operator=(NumberedGroup&&) = delete;
  // Leaves the number behind, unless Keep() was called.
  ~NumberedGroup();

  const Group& group() const { return group_; }

  // Everything that was sent here has completed: the number is good for the next use, too.
  void Keep();

 private:
  std::shared_ptr<GroupState> of_;  // null: nothing to leave behind
  uint64_t number_;
  Group group_;
};

// Agrees on a number, as a collective of `group`. `call` names the call that the program has made,
// "Communicator::Create", and must be the same on all ranks.
absl::StatusOr<NumberedGroup> MeetInNumberedGroup(const Group& group, absl::string_view call,
                                                  const CallOptions& options,
                                                  CallSite site = CallSite::Here());

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_JOB_NUMBERED_GROUP_H_
