#ifndef MUSTER_CLIENT_SRC_PROTOCOL_GROUPS_COLLECTIVE_SEQUENCE_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_GROUPS_COLLECTIVE_SEQUENCE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "client/src/protocol/messages/collective_call.h"

namespace muster::internal {

// Returns whether the coordinator refused an arrival without recording it.
bool NothingRecorded(const absl::Status& status);

// One member's collectives in one group: one at a time, numbered from 0. The first send of a number
// fixes its content. Without this, a rank could send number 3 as a Barrier, time out, and retry it
// as a Broadcast, after the coordinator has completed the Barrier for the other ranks. Pure: no
// I/O, no threads, no clock.
class CollectiveSequence {
 public:
  // `group` is the group's name in messages: "the world", "group 'readers'".
  explicit CollectiveSequence(std::string group) : group_(std::move(group)) {}

  // Begins the next collective, which is in progress until End(). If the number was sent before,
  // the payload of the first send is used. Returns FAILED_PRECONDITION if another call is in
  // progress, if the number was sent as another operation or with other arguments, or if the group
  // is finished.
  absl::Status Begin(CollectiveCall call);

  // Ends the call in progress, which was sent `sends` times.
  //   * OK completes the number.
  //   * OUT_OF_RANGE frees the number for other content, whatever was sent before.
  //   * A refusal without a record (NothingRecorded) frees it too, if this was the number's only
  //     send, or if `no_send_counts`: no earlier send has counted or will count.
  void End(const absl::Status& status, int sends, bool no_send_counts);

  // Returns whether the number was sent, so that its content is fixed.
  bool is_fixed() const { return sends_ > 0; }

  // Starts again at 0, after the group was closed. A call in progress becomes the first one, and
  // earlier sends no longer count.
  void Restart();

  // Makes this error the answer to all later calls. The first one wins. A call in progress gets its
  // own answer.
  void Finish(const absl::Status& why) { finished_.Update(why); }
  const absl::Status& finished() const { return finished_; }

  // Returns the number of the call in progress; call() returns its content.
  uint64_t number() const { return number_; }
  // Returns how often all ranks were refused at this number with OUT_OF_RANGE.
  uint32_t refusals() const { return refusals_; }
  const CollectiveCall& call() const { return call_; }
  // Returns "Barrier('epoch 1') op 12 of the world".
  std::string Describe() const;

  // Returns this member's contribution to the previous number. Other ranks may need it after a
  // restart of the coordinator, until this member has completed its next number.
  const std::optional<CollectiveCall>& retained() const { return retained_; }

 private:
  absl::Status CheckSame(const CollectiveCall& call) const;

  const std::string group_;
  uint64_t number_ = 0;
  uint32_t refusals_ = 0;
  bool in_progress_ = false;
  int sends_ = 0;  // of this number; its content is fixed if positive
  CollectiveCall call_;
  std::optional<CollectiveCall> retained_;
  absl::Status finished_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_GROUPS_COLLECTIVE_SEQUENCE_H_
