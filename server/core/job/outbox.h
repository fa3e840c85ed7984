#ifndef MUSTER_SERVER_CORE_JOB_OUTBOX_H_
#define MUSTER_SERVER_CORE_JOB_OUTBOX_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/core/api/effects.h"

namespace muster::core {

// The effects of the current step. Every text for a member passes through here and gets the job's
// name before it. A text that a claim brings back has the name already and gets no second one. A
// text that is too long for an error is cut.
class Outbox {
 public:
  explicit Outbox(absl::string_view job_id);

  // Ends a call. `status` and `answer` are as in core::Reply.
  void Reply(WaiterId waiter, const absl::Status& status, Answer answer = {});
  void EndStream(WaiterId stream, const absl::Status& status);
  // Makes an event that many streams may share.
  SharedEvent Share(Event event) const;
  void Send(WaiterId stream, SharedEvent event, bool urgent = false);
  void Log(Severity severity, std::string text, bool logged_by_launcher = false);
  void Inquire(InquiryCause cause) { effects_.inquiry = std::move(cause); }
  bool inquires() const { return effects_.inquiry.has_value(); }

  std::string WithJob(absl::string_view text) const;
  absl::Status WithJob(const absl::Status& status) const;
  // Returns a text that a claim brings back as it was before it was sent, because it may become
  // part of other texts.
  std::string WithoutJob(absl::string_view text) const;

  // Ends the step, and returns its effects.
  Effects Take() { return std::exchange(effects_, {}); }

 private:
  std::string prefix_;
  Effects effects_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_JOB_OUTBOX_H_
