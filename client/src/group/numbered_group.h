#ifndef MUSTER_CLIENT_SRC_GROUP_NUMBERED_GROUP_H_
#define MUSTER_CLIENT_SRC_GROUP_NUMBERED_GROUP_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "muster/call_options.h"
#include "muster/group.h"

namespace muster::internal {

// A group of the same ranks as another one, with a number, for one try of something that takes
// several collectives.
//
//   auto numbered = AgreeOnNumberedGroup(group, "Communicator::Create", options);
//   numbered->group().AllGatherBytes(address, ...);  // if this fails, the number is left behind
//   numbered->Keep();                                // the next try may use the number again
//
// A collective that was sent must be retried with the same content until it completes. But a second
// try has other content, such as new addresses. On the group itself, a try that timed out would
// therefore block all later ones. In a numbered group, a failed try is left behind together with
// its number.
//
// The ranks may disagree on which tries have failed. So first each rank tells the others the next
// number that it can use, in a collective of the group itself. The highest number wins. That
// collective has the same content however often it is retried.
class NumberedGroup {
 public:
  // Returns the number that this rank tells the others.
  static uint64_t NextNumber(const Group& of);

  // `number` is the highest number that a rank has told.
  NumberedGroup(const Group& of, uint64_t number);
  NumberedGroup(NumberedGroup&&) noexcept;
  NumberedGroup& operator=(NumberedGroup&&) = delete;
  // Leaves the number behind, unless Keep() was called.
  ~NumberedGroup();

  const Group& group() const { return group_; }

  // Makes the number available for the next use, because every collective in it has completed.
  void Keep();

 private:
  std::shared_ptr<GroupState> of_;  // null if there is nothing to leave behind
  uint64_t number_;
  Group group_;
};

// Agrees on a number, in a collective of `group`. `call` names the program's call, such as
// "Communicator::Create", and must be the same on all ranks.
absl::StatusOr<NumberedGroup> AgreeOnNumberedGroup(const Group& group, absl::string_view call,
                                                   const CallOptions& options,
                                                   CallSite site = CallSite::Here());

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_GROUP_NUMBERED_GROUP_H_
