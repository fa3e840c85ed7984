#ifndef MUSTER_CLIENT_SRC_PROTOCOL_COLLECTIVE_SEQUENCE_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_COLLECTIVE_SEQUENCE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "client/src/protocol/collective_call.h"

namespace muster::internal {

// Whether the coordinator has refused an arrival without recording it.
bool NothingRecorded(const absl::Status& status);

// A group's collectives as one member does them: one at a time, numbered from 0. What a number
// stands for is fixed by its first send, so that a repetition cannot mean something else than the
// arrival that the coordinator may know. Pure: no I/O, no threads, no clock.
class CollectiveSequence {
 public:
  // `group` as messages name it: "the world", "group 'readers'".
  explicit CollectiveSequence(std::string group) : group_(std::move(group)) {}

  // The program calls the next collective. OK: it is in progress until End(). Where the number was
  // sent before, its payload is the one that was sent then. FAILED_PRECONDITION: another call is in
  // progress; the number stands for another operation, or one with other arguments; or the group is
  // finished.
  absl::Status Begin(CollectiveCall call);

  // The call in progress has ended like this after `sends` sends. OK completes the number;
  // OUT_OF_RANGE frees it for other content, whatever was sent before; so does a refusal that has
  // recorded nothing, if this was the only send of the number, or `none_counts`: no earlier one has
  // counted, nor will.
  void End(const absl::Status& status, int sends, bool none_counts);

  // Whether the number was sent, so that it stands for what was sent first.
  bool is_fixed() const { return sends_ > 0; }

  // The group is closed: its collectives are numbered from 0 again. A call in progress becomes the
  // first of them, and nothing of what was sent before counts.
  void Restart();

  // No collective of this group can succeed any more, as this error says. Calls in progress get
  // their own answers. The first reason counts.
  void Finish(const absl::Status& why) { finished_.Update(why); }
  const absl::Status& finished() const { return finished_; }

  // The number and the content of the call in progress.
  uint64_t number() const { return number_; }
  // How often the number was refused to all ranks, by OUT_OF_RANGE.
  uint32_t refusals() const { return refusals_; }
  const CollectiveCall& call() const { return call_; }
  // "Barrier('epoch 1') op 12 of the world".
  std::string Describe() const;

  // The own contribution to the number before: peers may need it again after a restart of the
  // coordinator, until this member's next number has completed.
  const std::optional<CollectiveCall>& retained() const { return retained_; }

 private:
  absl::Status CheckSame(const CollectiveCall& call) const;

  const std::string group_;
  uint64_t number_ = 0;
  uint32_t refusals_ = 0;
  bool in_progress_ = false;
  int sends_ = 0;  // of this number; its content is fixed if there are any
  CollectiveCall call_;
  std::optional<CollectiveCall> retained_;
  absl::Status finished_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_COLLECTIVE_SEQUENCE_H_
