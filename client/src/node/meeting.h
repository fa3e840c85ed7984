#ifndef MUSTER_CLIENT_SRC_NODE_MEETING_H_
#define MUSTER_CLIENT_SRC_NODE_MEETING_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "client/src/node/slots.h"

namespace muster::internal {

// How long members wait for each other, in nanoseconds.
struct MeetingTimes {
  // Who has arrived waits so long for the others of its node, and then sends with those who have.
  int64_t gather = 1'000'000;
  // An arrival that somebody has taken is its owner's again after so long; no sender waits longer
  // for the answer. So much later than without this, at most, the daemon knows who is missing.
  int64_t patience = 150'000'000;
};

// How one member's meeting with the others of its node has ended.
struct MeetingEnd {
  enum Kind {
    // The daemon has completed the collective: `answer` is what the sender has handed on.
    kAnswered,
    // The member sends its own call, at once: under a higher attempt than it has posted, or, where
    // `unsent`, under the same.
    kCallAlone,
    // Its arrival was revoked from elsewhere: its session has ended, or the call.
    kRevoked,
    // The time was up. The daemon says who is missing, when asked by an own call that does not
    // wait.
    kDeadline,
  };
  Kind kind = kCallAlone;
  bool unsent = false;  // of kCallAlone: nobody but this member knows of the arrival
  // Somebody has taken the arrival, and may have sent it, or may do so yet: if the member gives the
  // call up without the daemon's answer to a later send, it must withdraw the arrival there.
  bool was_taken = false;
  std::string answer;
};

// What has become of a batch that was sent.
struct Delivery {
  std::vector<uint32_t> completed;  // indices of the parts that have completed
  std::string answer;               // what all of these have been answered with
};

// One member's arrival at one collective by way of its node: it posts, and then it either sends for
// all who are there or waits until it has been sent for. `Hooks` as of Slots, and Now(): monotonic
// nanoseconds.
template <class Hooks>
class Meeting {
 public:
  // Sends the parts, of which the first is this member's own, as one call, and waits for its
  // answer: at most MeetingTimes::patience, and until this member's own deadline. Nullopt where
  // there is no answer, or one that names no part, or one that this member must not accept: its
  // session or attempt is no longer the current one.
  using Send = std::function<std::optional<Delivery>(const std::vector<TakenPart>&)>;

  Meeting(Slots<Hooks>* slots, const MeetingTimes& times, Send send)
      : slots_(slots), times_(times), send_(std::move(send)) {}

  // Blocks until the meeting has ended, `deadline` (by Now()) at the latest, but for what `send`
  // does. Afterwards the slot is empty. One at a time for the same slots.
  MeetingEnd Meet(const Contribution& contribution, int64_t deadline) {
    sequence_ = contribution.sequence;
    if (!slots_->Post(contribution)) return {MeetingEnd::kCallAlone, /*unsent=*/true, false, {}};
    const int64_t gathered = Add(Hooks::Now(), times_.gather);
    int64_t patient = 0;  // until when, once the arrival was taken
    while (true) {
      const SlotWord word = slots_->Own();
      const int64_t now = Hooks::Now();
      switch (word.state) {
        case SlotState::kEmpty:
          return Revoked();
        case SlotState::kArrived:
          if (now >= deadline) return GiveUp(MeetingEnd::kDeadline);
          if (now >= gathered || !slots_->SomebodyMayCome(sequence_)) {
            if (std::optional<MeetingEnd> end = Lead()) return *std::move(end);
            continue;
          }
          slots_->Wait(word, std::min(gathered, deadline) - now);
          continue;
        case SlotState::kTaken:
          if (patient == 0) patient = Add(now, times_.patience);
          if (now >= deadline) return GiveUp(MeetingEnd::kDeadline);
          if (now >= patient) return GiveUp(MeetingEnd::kCallAlone);
          slots_->Wait(word, std::min(patient, deadline) - now);
          continue;
        case SlotState::kAnswered:
          return Take(word);
        case SlotState::kReleased:
          return GiveUp(MeetingEnd::kCallAlone);
        default:  // nobody who keeps to the rules writes that
          return GiveUp(MeetingEnd::kCallAlone);
      }
    }
  }

 private:
  static int64_t Add(int64_t now, int64_t duration) {
    return duration > std::numeric_limits<int64_t>::max() - now
               ? std::numeric_limits<int64_t>::max()
               : now + duration;
  }

  // Who has revoked it knows whether it was taken; here it may have been.
  static MeetingEnd Revoked() { return {MeetingEnd::kRevoked, false, true, {}}; }

  // Takes the arrival back. The answer may have come in the same moment, and is not waited for any
  // more then: it is kept at the daemon.
  MeetingEnd GiveUp(MeetingEnd::Kind kind) {
    const SlotWord before = slots_->Revoke();
    const bool was_taken = before.state != SlotState::kEmpty && before.state != SlotState::kArrived;
    if (before.state == SlotState::kEmpty) return Revoked();
    return {kind, /*unsent=*/kind == MeetingEnd::kCallAlone && !was_taken, was_taken, {}};
  }

  MeetingEnd Take(SlotWord word) {
    std::optional<Result> result;
    if (!slots_->TakeAnswer(word, sequence_, &result)) return Revoked();
    if (!result) return {MeetingEnd::kCallAlone, false, true, {}};
    return {MeetingEnd::kAnswered, false, true, std::move(result->answer)};
  }

  // Nullopt if somebody else has taken this member's arrival first.
  std::optional<MeetingEnd> Lead() {
    const std::vector<TakenPart> parts = slots_->Take(sequence_);
    if (parts.empty()) return std::nullopt;
    if (parts.size() == 1) return EndLead({MeetingEnd::kCallAlone, /*unsent=*/true, false, {}});
    std::optional<Delivery> sent = send_(parts);
    if (!sent || std::any_of(sent->completed.begin(), sent->completed.end(),
                             [&](uint32_t part) { return part >= parts.size(); })) {
      slots_->Release(parts);
      return EndLead({MeetingEnd::kCallAlone, false, true, {}});
    }
    slots_->Publish(parts, sent->completed, {sequence_, sent->answer});
    const bool own = std::count(sent->completed.begin(), sent->completed.end(), 0u) > 0;
    if (!own) return EndLead({MeetingEnd::kCallAlone, false, true, {}});
    return EndLead({MeetingEnd::kAnswered, false, true, std::move(sent->answer)});
  }

  MeetingEnd EndLead(MeetingEnd end) {
    return slots_->Revoke().state == SlotState::kEmpty ? Revoked() : end;
  }

  Slots<Hooks>* const slots_;
  const MeetingTimes times_;
  const Send send_;
  uint64_t sequence_ = 0;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_NODE_MEETING_H_
