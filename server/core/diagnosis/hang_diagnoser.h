#ifndef MUSTER_SERVER_CORE_DIAGNOSIS_HANG_DIAGNOSER_H_
#define MUSTER_SERVER_CORE_DIAGNOSIS_HANG_DIAGNOSER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/core/coordinator.h"
#include "server/core/diagnosis/inquiry_tracker.h"
#include "server/core/job/outbox.h"

namespace muster::core {

// A state machine that explains why a job does not go on. It asks the launchers to look at their
// ranks, and makes a verdict from their reports and the coordinator's status. It does no
// I/O, stands beside the Coordinator, and changes nothing for the members. So the record of a
// coordinator's inputs alone is enough to repeat it.
//
// The caller drives it as it drives the Coordinator. It also passes Effects::inquiry of the
// Coordinator to Begin(), and Effects::verdict of the diagnoser to the Coordinator as a
// VerdictFound. Tests: tests/server/core/diagnosis/hang_diagnoser_test.cc.
class HangDiagnoser {
 public:
  explicit HangDiagnoser(const Options& options)
      : out_(options.job_id), inquiries_(options.limits.max_members) {}

  Effects Step(Time now, WaiterId waiter, const InquiryRequest& request, const Coordinator& core);
  Effects Step(Time now, WaiterId waiter, const InquiryReport& request, const Coordinator& core);
  Effects Step(Time now, WaiterId waiter, const InquiryQuery& query, const Coordinator& core);
  // Returns whether Begin() would begin an inquiry: there are launchers, and the last inquiry is
  // long enough ago.
  bool MayBegin(Time now, JobState state) const;
  // Begins an inquiry if MayBegin() allows it.
  Effects Begin(Time now, const InquiryCause& cause);

  // Forgets a call that waits here. Returns false if it does not.
  bool Cancel(Time now, WaiterId waiter) { return inquiries_.Forget(now, waiter); }
  // Does what is due: answers calls whose time is over, and makes the verdict.
  Effects Tick(Time now);
  Time NextDeadline() const { return inquiries_.NextDeadline(); }
  // Ends all calls, and every later one, with UNAVAILABLE and this reason.
  Effects Drain(std::string reason);

  // Returns the latest inquiry, or nullopt if there was none.
  std::optional<InquiryStatus> Status(Time now) const;
  // Adds what only the launchers know: the latest inquiry, and how many processes run if none has
  // joined.
  void AddTo(Time now, JobStatus* status) const;

 private:
  absl::Status Check(const std::string& job_id, const Coordinator& core) const;
  absl::Status Request(Time now, WaiterId waiter, const InquiryRequest& request,
                       const Coordinator& core);
  absl::Status Report(Time now, WaiterId waiter, const InquiryReport& request,
                      const Coordinator& core);
  absl::Status Query(Time now, WaiterId waiter, const InquiryQuery& query, const Coordinator& core);
  std::shared_ptr<const InquiryStatus> SharedStatus(Time now) const;
  // Answers with the files of that report, if it is not null.
  void Answer(const InquiryTracker::Ended& ended, std::shared_ptr<const InquiryStatus> status,
              InquiryTracker::SharedReport files_of);
  void AnswerAll(Time now, const std::vector<InquiryTracker::Ended>& calls);
  void Start(Time now, const std::string& reason, bool requested, JobStatus job);
  // Ends a step. Replies with `refusal` if it is an error.
  Effects Finish(Time now, WaiterId waiter, const absl::Status& refusal);

  Outbox out_;
  InquiryTracker inquiries_;
  std::optional<std::string> draining_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_DIAGNOSIS_HANG_DIAGNOSER_H_
