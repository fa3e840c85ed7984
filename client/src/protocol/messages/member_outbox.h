#ifndef MUSTER_CLIENT_SRC_PROTOCOL_MESSAGES_MEMBER_OUTBOX_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_MESSAGES_MEMBER_OUTBOX_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "client/src/protocol/messages/member_effects.h"

namespace muster::internal {

// The effects of the current step, as they are collected.
class MemberOutbox {
 public:
  void Add(Output output) { effects_.outputs.push_back(std::move(output)); }
  void Warn(std::string line) { Add(WriteLog{LogLevel::kWarning, std::move(line)}); }
  void Complete(CallId call, absl::StatusOr<Response> reply) {
    effects_.completions.push_back({call, std::move(reply)});
  }
  // Sets Effects::state_changed.
  void NoteStateChange() { effects_.state_changed = true; }

  // Ends the step and returns its effects.
  Effects Take() { return std::exchange(effects_, {}); }

 private:
  Effects effects_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_MESSAGES_MEMBER_OUTBOX_H_
