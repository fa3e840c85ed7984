#ifndef MUSTER_CLIENT_SRC_NODE_MEETING_H_
#define MUSTER_CLIENT_SRC_NODE_MEETING_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/functional/function_ref.h"
#include "client/src/node/slots.h"

namespace muster::internal {

// How long members wait for each other, in nanoseconds.
struct MeetingTimes {
  // Who has arrived waits so long for the others of its node, and then sends with those who have.
  // To it comes, for each member of the group there, what a machine that has fewer cores than
  // members needs to let one more of them run.
  int64_t gather = 1'000'000;
  // An arrival that somebody has taken is its owner's again after so long; no sender waits longer
  // for the answer. So much later than without this, at most, the daemon knows who is missing.
  int64_t patience = 150'000'000;
  int64_t gather_each = 100'000;

  int64_t GatherOf(size_t members) const {
    return gather + static_cast<int64_t>(members) * gather_each;
  }
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
// nanoseconds. Not thread-safe; but the slot may be revoked from elsewhere at any time.
template <class Hooks>
class Meeting {
 public:
  // What the member does next.
  struct Wait {  // until its slot's word is another one: Slots::Wait()
    SlotWord seen;
    int64_t until;
  };
  struct Send {  // these parts, of which the first is its own, and there until Sent()
    const std::vector<TakenPart>* parts;
  };
  using Next = std::variant<Wait, Send, MeetingEnd>;

  // Sends the parts as one call, and waits for its answer: at most MeetingTimes::patience, and
  // until this member's own deadline. Nullopt where there is no answer, or one that names no part,
  // or one that this member must not accept: its session or attempt is no longer the current one.
  using SendParts = absl::FunctionRef<std::optional<Delivery>(const std::vector<TakenPart>&)>;

  Meeting(Slots<Hooks>* slots, const MeetingTimes& times) : slots_(slots), times_(times) {}

  // Arrives, to wait until `deadline` (by Now()). False: the member brings more than a slot holds
  // and calls by itself; nothing was posted. One at a time for the same slots; each that begins
  // must be brought to its end.
  bool Begin(const Contribution& contribution, int64_t deadline) {
    sequence_ = contribution.sequence;
    deadline_ = deadline;
    gathered_ = Add(Hooks::Now(), times_.GatherOf(slots_->members()));
    patient_ = 0;
    if (slots_->Post(contribution)) return true;
    slots_->Pass(sequence_);
    return false;
  }

  // Never blocks. To be called again after waiting, until it has ended; the slot is empty then.
  Next Advance() {
    while (true) {
      const SlotWord word = slots_->Own();
      const int64_t now = Hooks::Now();
      switch (word.state) {
        case SlotState::kEmpty:
          return Revoked();
        case SlotState::kArrived:
          if (now >= deadline_) return GiveUp(MeetingEnd::kDeadline);
          if (now < gathered_ && slots_->SomebodyMayCome(sequence_)) {
            return Wait{word, std::min(gathered_, deadline_)};
          }
          taken_ = slots_->Take(sequence_);
          if (taken_.size() == 1) return End({MeetingEnd::kCallAlone, /*unsent=*/true, false, {}});
          if (!taken_.empty()) return Send{&taken_};
          continue;  // somebody else has taken it first
        case SlotState::kTaken:
          if (patient_ == 0) patient_ = Add(now, times_.patience);
          if (now >= deadline_) return GiveUp(MeetingEnd::kDeadline);
          if (now >= patient_) return GiveUp(MeetingEnd::kCallAlone);
          return Wait{word, std::min(patient_, deadline_)};
        case SlotState::kAnswered:
          return Take(word);
        default:  // released; or what nobody writes who keeps to the rules
          return GiveUp(MeetingEnd::kCallAlone);
      }
    }
  }

  // What has come of Send; ends the meeting.
  MeetingEnd Sent(std::optional<Delivery> delivery) {
    if (!delivery || std::any_of(delivery->completed.begin(), delivery->completed.end(),
                                 [&](uint32_t part) { return part >= taken_.size(); })) {
      slots_->Release(taken_);
      return End({MeetingEnd::kCallAlone, false, true, {}});
    }
    slots_->Publish(taken_, delivery->completed, {sequence_, delivery->answer});
    const bool own = std::count(delivery->completed.begin(), delivery->completed.end(), 0u) > 0;
    if (!own) return End({MeetingEnd::kCallAlone, false, true, {}});
    return End({MeetingEnd::kAnswered, false, true, std::move(delivery->answer)});
  }

  // All of that after Begin(). Blocks until the meeting has ended: at the deadline at the latest,
  // but for what `send` does.
  MeetingEnd Run(SendParts send) {
    while (true) {
      Next next = Advance();
      if (const auto* wait = std::get_if<Wait>(&next)) {
        slots_->Wait(wait->seen, wait->until - Hooks::Now());
      } else if (const auto* sending = std::get_if<Send>(&next)) {
        return Sent(send(*sending->parts));
      } else {
        return std::get<MeetingEnd>(std::move(next));
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

  // Of the one who has taken the parts.
  MeetingEnd End(MeetingEnd end) {
    return slots_->Revoke().state == SlotState::kEmpty ? Revoked() : std::move(end);
  }

  Slots<Hooks>* const slots_;
  const MeetingTimes times_;
  uint64_t sequence_ = 0;
  int64_t deadline_ = 0;
  int64_t gathered_ = 0;
  int64_t patient_ = 0;           // until when, once the arrival was taken
  std::vector<TakenPart> taken_;  // by this member, its own first
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_NODE_MEETING_H_
