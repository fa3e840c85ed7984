#ifndef MUSTER_CLIENT_SRC_NODE_FAN_IN_ROUND_H_
#define MUSTER_CLIENT_SRC_NODE_FAN_IN_ROUND_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/functional/function_ref.h"
#include "client/src/node/fan_in_slots.h"

namespace muster::internal {

// How long the members of a node wait for each other, in nanoseconds: W and W2 of
// docs/node-fan-in.md.
struct FanInTimes {
  // W: how long an arrived member waits for the others on its node before it sends the batch it
  // has. `gather_each` is added for each member of the group on the node. A machine with fewer
  // cores than members needs that long to schedule one more of them.
  int64_t gather = 1'000'000;
  // W2: how long an arrival may stay taken before its owner revokes it, and how long a sender waits
  // for its answer. The daemon's list of missing ranks is late by at most this much.
  int64_t patience = 150'000'000;
  int64_t gather_each = 100'000;

  int64_t GatherOf(size_t members) const {
    return gather + static_cast<int64_t>(members) * gather_each;
  }
};

// How a round ended for this member.
struct FanInEnd {
  enum Kind {
    // The daemon has completed the collective, or a sender on the node has committed it. `answer`
    // is what the sender published.
    kAnswered,
    // The member makes its own call at once: under the posted attempt if `unsent`, otherwise under
    // a higher one.
    kCallAlone,
    // Another thread of the member revoked the arrival, because the session or the call has ended.
    kRevoked,
    // The deadline has passed. The member asks the daemon which ranks are missing, by its own call
    // with a wait time-out of 0.
    kDeadline,
  };
  Kind kind = kCallAlone;
  bool unsent = false;  // for kCallAlone: no other member knows of the arrival
  // Another member took the arrival, and may have sent it or may still send it. A member that gives
  // up the call without the daemon's answer to a later send must withdraw the arrival
  // (WithdrawArrival).
  bool was_taken = false;
  std::string answer;
  // For kAnswered: a sender on the node has committed the collective, and the daemon does not know.
  bool on_node = false;
};

// The daemon's answer to a batch, or the sender's own.
struct Delivery {
  std::vector<uint32_t> completed;  // indices of the completed parts
  std::string answer;               // the answer to each completed part
  // The parts are those of all ranks of the group, and this member completes the collective
  // itself. Nothing was sent.
  bool on_node = false;
};

// One member's part in one collective with node fan-in: it posts its arrival, and then either sends
// the batch for all members, or waits until another member has sent it.
//
//   round.Begin(contribution, deadline);
//   FanInEnd end = round.Run([&](const auto& parts) { return CallDaemon(parts); });
//   if (end.kind == FanInEnd::kAnswered) return end.answer;  // else the member calls on its own
//
// `Hooks` are the Hooks of FanInSlots and Now(), which returns monotonic nanoseconds. Not
// thread-safe, but any thread may revoke the slot at any time. Only the round's end says whether a
// sender had committed the arrival before. Tests:
// tests/client/node/fan_in_*_test.cc.
template <class Hooks>
class FanInRound {
 public:
  // The next step of a round: wait, send, or end.
  struct Wait {
    uint32_t bell;  // as FanInSlots::Wait() takes it
    int64_t until;
  };
  // Sends these parts, its own first, and then calls Sent(). They stay valid until then.
  struct Send {
    const std::vector<TakenPart>* parts;
  };
  using Next = std::variant<Wait, Send, FanInEnd>;

  // Sends the parts as one call and blocks for the answer, for at most FanInTimes::patience and
  // not beyond this member's deadline. Returns nullopt without an answer, if the answer names no
  // part, or if this member must not accept it because its session or attempt is no longer current.
  // May send nothing, and return the result with which this member completes the collective itself.
  using SendParts = absl::FunctionRef<std::optional<Delivery>(const std::vector<TakenPart>&)>;

  FanInRound(FanInSlots<Hooks>* slots, const FanInTimes& times) : slots_(slots), times_(times) {}

  // Posts the arrival. `deadline` is in the time of Now(). Returns false, with nothing posted, if
  // the contribution does not fit into a slot. The member then makes its own call. For the same
  // slots, a round must end before the next one begins.
  bool Begin(const Contribution& contribution, int64_t deadline) {
    sequence_ = contribution.sequence;
    deadline_ = deadline;
    gather_ends_ = Add(Hooks::Now(), times_.GatherOf(slots_->members()));
    patience_ends_ = 0;
    if (slots_->Post(contribution)) return true;
    slots_->Skip(sequence_);
    return false;
  }

  // Returns the next thing to do. Never blocks. Call it again after each Wait, until it returns a
  // FanInEnd. The slot is empty then.
  Next Advance() {
    while (true) {
      const uint32_t bell = slots_->Bell();
      const SlotWord word = slots_->OwnWord();
      const int64_t now = Hooks::Now();
      switch (word.state) {
        case SlotState::kEmpty:
          return Revoked();
        case SlotState::kArrived:
          if (now >= deadline_) return GiveUp(FanInEnd::kDeadline);
          if (now < gather_ends_ && slots_->MoreMayArrive(sequence_)) {
            return Wait{bell, std::min(gather_ends_, deadline_)};
          }
          taken_ = slots_->Take(sequence_);
          if (taken_.size() == 1) return End({FanInEnd::kCallAlone, /*unsent=*/true, false, {}});
          if (!taken_.empty()) return Send{&taken_};
          continue;  // another member was faster and took it
        case SlotState::kTaken:
          if (patience_ends_ == 0) patience_ends_ = Add(now, times_.patience);
          if (now >= deadline_) return GiveUp(FanInEnd::kDeadline);
          if (now >= patience_ends_) return GiveUp(FanInEnd::kCallAlone);
          return Wait{bell, std::min(patience_ends_, deadline_)};
        case SlotState::kAnswered:
          return Take(word);
        default:  // released, or no valid state
          return GiveUp(FanInEnd::kCallAlone);
      }
    }
  }

  // Ends the round after a Send. `delivery` is the result of SendParts.
  FanInEnd Sent(std::optional<Delivery> delivery) {
    if (!delivery || std::any_of(delivery->completed.begin(), delivery->completed.end(),
                                 [&](uint32_t part) { return part >= taken_.size(); })) {
      slots_->Release(taken_);
      return End({FanInEnd::kCallAlone, false, true, {}});
    }
    if (delivery->on_node) return Commit(std::move(delivery->answer));
    slots_->Publish(taken_, delivery->completed, {sequence_, delivery->answer});
    const bool own = std::count(delivery->completed.begin(), delivery->completed.end(), 0u) > 0;
    if (!own) return End({FanInEnd::kCallAlone, false, true, {}});
    return End({FanInEnd::kAnswered, false, true, std::move(delivery->answer)});
  }

  // Runs the round after Begin(), and blocks until it has ended: at the deadline at the latest,
  // plus the time that `send` takes.
  FanInEnd Run(SendParts send) {
    while (true) {
      Next next = Advance();
      if (const auto* wait = std::get_if<Wait>(&next)) {
        slots_->Wait(wait->bell, wait->until - Hooks::Now());
      } else if (const auto* sending = std::get_if<Send>(&next)) {
        return Sent(send(*sending->parts));
      } else {
        return std::get<FanInEnd>(std::move(next));
      }
    }
  }

 private:
  static int64_t Add(int64_t now, int64_t duration) {
    return duration > std::numeric_limits<int64_t>::max() - now
               ? std::numeric_limits<int64_t>::max()
               : now + duration;
  }

  // Returns the end of a round that another thread revoked. Only that thread knows whether the
  // arrival was taken, so this assumes that it was.
  FanInEnd Revoked() { return CommittedOr({FanInEnd::kRevoked, false, true, {}}); }

  // Revokes the arrival. An answer of the daemon that comes at the same moment is dropped: the
  // daemon keeps it for the member's own call. The daemon does not know of a commit.
  FanInEnd GiveUp(FanInEnd::Kind kind) {
    const SlotWord before = slots_->Revoke();
    if (before.state == SlotState::kEmpty) return Revoked();
    if (before.state == SlotState::kArrived) {
      return {kind, /*unsent=*/kind == FanInEnd::kCallAlone, /*was_taken=*/false, {}};
    }
    return CommittedOr({kind, /*unsent=*/false, /*was_taken=*/true, {}});
  }

  // Returns the answer if a sender has committed the revoked arrival, otherwise `end`.
  FanInEnd CommittedOr(FanInEnd end) {
    std::optional<Result> result = slots_->TakeCommitted(sequence_);
    if (!result) return end;
    return {FanInEnd::kAnswered, false, true, std::move(result->answer), /*on_node=*/true};
  }

  // Completes the collective on the node. After a commit, it has completed for this member too,
  // even if another thread has revoked its arrival meanwhile.
  FanInEnd Commit(std::string answer) {
    if (taken_.size() != slots_->members() ||
        !slots_->Commit(taken_, {sequence_, answer, /*on_node=*/1})) {
      slots_->Release(taken_);
      return End({FanInEnd::kCallAlone, false, true, {}});
    }
    slots_->Revoke();
    return {FanInEnd::kAnswered, false, true, std::move(answer), /*on_node=*/true};
  }

  FanInEnd Take(SlotWord word) {
    std::optional<Result> result;
    if (!slots_->TakeAnswer(word, sequence_, &result)) return Revoked();
    if (!result) return {FanInEnd::kCallAlone, false, true, {}};
    return {FanInEnd::kAnswered, false, true, std::move(result->answer), result->on_node != 0};
  }

  // Empties the slot of a member that took the batch itself.
  FanInEnd End(FanInEnd end) {
    return slots_->Revoke().state == SlotState::kEmpty ? Revoked() : std::move(end);
  }

  FanInSlots<Hooks>* const slots_;
  const FanInTimes times_;
  uint64_t sequence_ = 0;
  int64_t deadline_ = 0;
  int64_t gather_ends_ = 0;
  int64_t patience_ends_ = 0;     // when W2 ends, once another member has taken the arrival
  std::vector<TakenPart> taken_;  // the batch of this member, its own part first
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_NODE_FAN_IN_ROUND_H_
