#include "server/core/diagnosis/hang_diagnoser.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/api/describe.h"
#include "server/core/api/validation.h"

namespace muster::core {
namespace {

constexpr size_t kMaxReasonBytes = 1024;
constexpr char kAtRequest[] = "at request";

}  // namespace

Effects HangDiagnoser::Step(Time now, WaiterId waiter, const InquiryRequest& request,
                            const Coordinator& core) {
  return Finish(now, waiter, Request(now, waiter, request, core));
}

Effects HangDiagnoser::Step(Time now, WaiterId waiter, const InquiryReport& request,
                            const Coordinator& core) {
  return Finish(now, waiter, Report(now, waiter, request, core));
}

Effects HangDiagnoser::Step(Time now, WaiterId waiter, const InquiryQuery& query,
                            const Coordinator& core) {
  return Finish(now, waiter, Query(now, waiter, query, core));
}

// Requires launchers: without any, an inquiry would reveal nothing new.
bool HangDiagnoser::MayBegin(Time now, JobState state) const {
  return !draining_ && inquiries_.has_launchers() && inquiries_.MayBegin(now, state);
}

Effects HangDiagnoser::Begin(Time now, const InquiryCause& cause) {
  if (MayBegin(now, cause.job->state)) Start(now, cause.reason, /*requested=*/false, *cause.job);
  return out_.Take();
}

Effects HangDiagnoser::Tick(Time now) {
  AnswerAll(now, inquiries_.TakeExpired(now));
  return Finish(now, 0, absl::OkStatus());
}

Effects HangDiagnoser::Drain(std::string reason) {
  draining_ = std::move(reason);
  for (WaiterId waiter : inquiries_.End()) out_.Reply(waiter, absl::UnavailableError(*draining_));
  return out_.Take();
}

std::optional<InquiryStatus> HangDiagnoser::Status(Time now) const {
  if (inquiries_.number() == 0) return std::nullopt;
  return inquiries_.Status(now);
}

void HangDiagnoser::AddTo(Time now, JobStatus* status) const {
  status->inquiry = Status(now);
  const size_t processes = inquiries_.Processes(now);
  const bool joined = status->state != JobState::kForming || !status->members.empty();
  if (!joined && processes > 0) status->reason = DescribeUnusedMuster(processes);
}

absl::Status HangDiagnoser::Check(const std::string& job_id, const Coordinator& core) const {
  if (draining_) return absl::UnavailableError(*draining_);
  return core.CheckJob(job_id);
}

absl::Status HangDiagnoser::Request(Time now, WaiterId waiter, const InquiryRequest& request,
                                    const Coordinator& core) {
  absl::Status s = Check(request.job_id, core);
  if (s.ok()) s = CheckOptionalName("reason", request.reason, kMaxReasonBytes);
  if (!s.ok()) return s;
  if (inquiries_.MayBeginAtRequest(now)) {
    Start(now, request.reason.empty() ? kAtRequest : request.reason, /*requested=*/true,
          core.GetStatus(now, /*with_completed_leases=*/false));
  }
  out_.Reply(waiter, absl::OkStatus(), InquiryAnswer{SharedStatus(now), {}, {}});
  return absl::OkStatus();
}

absl::Status HangDiagnoser::Report(Time now, WaiterId waiter, const InquiryReport& request,
                                   const Coordinator& core) {
  absl::Status s = Check(request.job_id, core);
  if (s.ok()) s = CheckReportContent(request.report);
  if (s.ok()) s = inquiries_.Take(now, request.number, request.report);
  if (s.ok()) out_.Reply(waiter, absl::OkStatus());
  return s;
}

absl::Status HangDiagnoser::Query(Time now, WaiterId waiter, const InquiryQuery& query,
                                  const Coordinator& core) {
  absl::Status s = Check(query.job_id, core);
  if (s.ok() && query.launcher) s = CheckLauncher(*query.launcher);
  if (!s.ok()) return s;
  // A launcher calls every few seconds to learn of new inquiries. It does not need the reports of
  // others.
  const bool reports = !query.without_reports && !query.launcher;
  if (!query.wait_timeout || inquiries_.HasNewer(query.after)) {
    Answer({waiter, reports}, SharedStatus(now), inquiries_.ReportOf(query.files_of));
    return absl::OkStatus();
  }
  if (s = inquiries_.CheckRoom(); !s.ok()) return s;
  const std::string launcher = query.launcher ? query.launcher->id : "";
  const WaiterId superseded =
      inquiries_.Watch(waiter, {query.after, now + *query.wait_timeout, launcher, reports},
                       query.launcher.value_or(LauncherIdentity()));
  if (superseded != 0) {
    out_.Reply(superseded, absl::CancelledError("a later call of the same launcher has arrived"));
  }
  return absl::OkStatus();
}

std::shared_ptr<const InquiryStatus> HangDiagnoser::SharedStatus(Time now) const {
  return std::make_shared<const InquiryStatus>(inquiries_.Status(now));
}

void HangDiagnoser::Answer(const InquiryTracker::Ended& ended,
                           std::shared_ptr<const InquiryStatus> status,
                           InquiryTracker::SharedReport files_of) {
  InquiryAnswer answer;
  answer.status = std::move(status);
  if (ended.reports) answer.reports = inquiries_.Reports();
  answer.files_of = std::move(files_of);
  out_.Reply(ended.call, absl::OkStatus(), std::move(answer));
}

void HangDiagnoser::AnswerAll(Time now, const std::vector<InquiryTracker::Ended>& calls) {
  if (calls.empty()) return;
  const std::shared_ptr<const InquiryStatus> status = SharedStatus(now);
  for (const InquiryTracker::Ended& ended : calls) Answer(ended, status, nullptr);
}

void HangDiagnoser::Start(Time now, const std::string& reason, bool requested, JobStatus job) {
  out_.Log(Severity::kInfo, absl::StrCat("inquiry (", reason, "): launchers inspect their ranks"));
  inquiries_.Begin(now, reason, requested, std::move(job));
  AnswerAll(now, inquiries_.TakeAnswered(now));
}

Effects HangDiagnoser::Finish(Time now, WaiterId waiter, const absl::Status& refusal) {
  if (!refusal.ok()) out_.Reply(waiter, refusal);
  Effects effects = out_.Take();
  if (inquiries_.Due(now)) effects.verdict = inquiries_.Close(now).text;
  return effects;
}

}  // namespace muster::core
