#ifndef MUSTER_SERVER_CORE_INQUIRY_DESK_H_
#define MUSTER_SERVER_CORE_INQUIRY_DESK_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/core/coordinator.h"
#include "server/core/inquiry.h"
#include "server/core/outbox.h"

namespace muster::core {

// Why does nobody go on? Asks the launchers, and says what they and the coordinator know. A state
// machine without I/O, like the Coordinator, and beside it: nothing that it does changes anything
// for the members, so that what is recorded of a coordinator says all about it. To drive it: as the
// Coordinator; put what that gives out as Effects::inquiry into Begin(), and what this one gives
// out as Effects::verdict into Coordinator::NoteVerdict().
class InquiryDesk {
 public:
  explicit InquiryDesk(const Options& options)
      : out_(options.job_id), inquiries_(options.limits.max_members) {}

  Effects Step(Time now, WaiterId waiter, const InquiryRequest& request, const Coordinator& core);
  Effects Step(Time now, WaiterId waiter, const InquiryReport& request, const Coordinator& core);
  Effects Step(Time now, WaiterId waiter, const InquiryQuestion& question, const Coordinator& core);
  // Whether Begin() would begin one: where there are launchers, and the last one was not just now.
  bool MayBegin(Time now, JobState state) const;
  Effects Begin(Time now, const InquiryCause& cause);

  // False if it is no call that waits here.
  bool Cancel(Time now, WaiterId waiter) { return inquiries_.Forget(now, waiter); }
  Effects Tick(Time now);
  Time NextDeadline() const { return inquiries_.NextDeadline(); }
  Effects Drain(std::string reason);

  // Nothing where there was none.
  std::optional<InquiryStatus> Status(Time now) const;
  // Adds what only the launchers know: the latest inquiry, and that processes run none of which has
  // joined.
  void AddTo(Time now, JobStatus* status) const;

 private:
  absl::Status Check(const std::string& job_id, const Coordinator& core) const;
  absl::Status Request(Time now, WaiterId waiter, const InquiryRequest& request,
                       const Coordinator& core);
  absl::Status Report(Time now, WaiterId waiter, const InquiryReport& request,
                      const Coordinator& core);
  absl::Status Ask(Time now, WaiterId waiter, const InquiryQuestion& question,
                   const Coordinator& core);
  std::shared_ptr<const InquiryStatus> SharedStatus(Time now) const;
  // With the files of that report, if it is not null.
  void Answer(const Inquiries::Ended& ended, std::shared_ptr<const InquiryStatus> status,
              Inquiries::SharedReport files_of);
  void AnswerAll(Time now, const std::vector<Inquiries::Ended>& calls);
  void Start(Time now, const std::string& reason, bool requested, JobStatus job);
  // Ends a step, which may have refused a call.
  Effects Finish(Time now, WaiterId waiter, const absl::Status& refusal);

  Outbox out_;
  Inquiries inquiries_;
  std::optional<std::string> draining_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_INQUIRY_DESK_H_
