#include "server/core/diagnosis/inquiry_tracker.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/support/bounded_text.h"

namespace muster::core {
namespace {

// How long launchers have to report what they see. Their files may come later.
constexpr absl::Duration kReportTimeout = absl::Seconds(10);
constexpr absl::Duration kMinInterval = absl::Minutes(1);
constexpr absl::Duration kMinIntervalAtRequest = absl::Seconds(2);
// The longest pause between two calls of a launcher that is still there.
constexpr absl::Duration kMaxPauseBetweenCalls = absl::Seconds(10);
// How long a launcher without a call is remembered. It may be between two calls, or on a node that
// is cut off.
constexpr absl::Duration kLauncherRetention = absl::Seconds(30);
// The largest difference of clocks between two machines of one job that is believed.
constexpr absl::Duration kMaxClockDifference = absl::Hours(24 * 366 * 10);

constexpr size_t kMaxReportBytes = 4 << 20;
constexpr size_t kMaxHeldBytes = 64 << 20;
constexpr size_t kMaxVerdictBytes = 4000;

size_t BytesOf(const RankObservation& observation) {
  size_t bytes = sizeof observation + observation.call.size() + observation.target.size() +
                 observation.thread.size() + observation.blocked_by.size() +
                 observation.kernel_function.size();
  for (const CommunicatorCount& count : observation.communicators) {
    bytes += sizeof count + count.name.size() + count.operation.size();
  }
  return bytes;
}

size_t BytesOf(const LauncherReport& report) {
  size_t bytes = 0;
  for (const RankObservation& observation : report.ranks) bytes += BytesOf(observation);
  for (const BundleFile& file : report.files) bytes += file.name.size() + file.content->size();
  return bytes;
}

}  // namespace

bool InquiryTracker::MayBegin(Time now, JobState state) const {
  // A slow start must not hide what hangs after it.
  if (state != state_) return MayBeginAtRequest(now);
  return !open_ && (number_ == 0 || now >= began_ + kMinInterval);
}

bool InquiryTracker::MayBeginAtRequest(Time now) const {
  return !open_ && (number_ == 0 || now >= began_ + kMinIntervalAtRequest);
}

// Returns the clock's time, or a number after all numbers that an earlier daemon has given out,
// whose clock may have been ahead. The waiting calls name the last number they know. Numbers too
// far ahead of the clock are ignored, so that no caller can use up the numbers.
uint64_t InquiryTracker::NextNumber(Time now) const {
  const auto clock = static_cast<uint64_t>(std::max<int64_t>(0, absl::ToUnixMicros(now)));
  const uint64_t furthest = clock + absl::ToInt64Microseconds(kMaxClockDifference);
  uint64_t number = std::max(number_ + 1, clock);
  for (const auto& [id, watcher] : watchers_) {
    if (watcher.after < furthest) number = std::max(number, watcher.after + 1);
  }
  return number;
}

size_t InquiryTracker::Processes(Time now) const {
  size_t processes = 0;
  for (const auto& [id, launcher] : launchers_) {
    const bool here = launcher.call != 0 || now < launcher.gone + kMaxPauseBetweenCalls;
    if (here) processes += launcher.identity.processes.size();
  }
  return processes;
}

void InquiryTracker::Begin(Time now, std::string reason, bool requested, JobStatus job) {
  number_ = NextNumber(now);
  reason_ = std::move(reason);
  requested_ = requested;
  open_ = true;
  began_ = now;
  closes_ = now + kReportTimeout;
  job_ = std::move(job);
  state_ = job_.state;
  job_.inquiry.reset();
  members_ = InquiryMembers(job_);
  verdict_ = {};
  reports_.clear();
  held_bytes_ = 0;
  ForgetLaunchersGoneBefore(now - kLauncherRetention);
}

void InquiryTracker::ForgetLaunchersGoneBefore(Time time) {
  for (auto it = launchers_.begin(); it != launchers_.end();) {
    it = it->second.call == 0 && it->second.gone < time ? launchers_.erase(it) : std::next(it);
  }
}

// Returns whether a report of this launcher may still add something. Once all members are reported,
// a launcher that has not shown to be of this job is not awaited.
bool InquiryTracker::Awaits(const LauncherIdentity& launcher) const {
  if (reports_.count(launcher.id) > 0) return false;
  return !members_.all_reported() || members_.AreOfTheJob(launcher.processes);
}

bool InquiryTracker::AllHaveReported() const {
  return std::none_of(launchers_.begin(), launchers_.end(),
                      [this](const auto& entry) { return Awaits(entry.second.identity); });
}

std::vector<std::string> InquiryTracker::Awaited() const {
  std::set<std::string> nodes;
  for (const auto& [id, launcher] : launchers_) {
    if (Awaits(launcher.identity)) nodes.insert(launcher.identity.node);
  }
  return {nodes.begin(), nodes.end()};
}

std::vector<LauncherView> InquiryTracker::Views() const {
  std::vector<LauncherView> views;
  for (const auto& [id, report] : reports_) views.push_back({report->launcher.node, true});
  for (const auto& [id, launcher] : launchers_) {
    const LauncherIdentity& identity = launcher.identity;
    if (reports_.count(id) == 0) views.push_back({identity.node, false, identity.processes});
  }
  return views;
}

const Verdict& InquiryTracker::Close(Time now) {
  open_ = false;
  closes_ = absl::InfiniteFuture();
  std::vector<RankObservation> observations;
  for (const auto& [id, report] : reports_) {
    observations.insert(observations.end(), report->ranks.begin(), report->ranks.end());
  }
  verdict_ = Judge(job_, observations, Views());
  verdict_.text = Shortened(verdict_.text, kMaxVerdictBytes);
  job_ = {};
  // A launcher that was silent for all that time will be heard of again, or is gone.
  ForgetLaunchersGoneBefore(now - kLauncherRetention);
  return verdict_;
}

absl::Status InquiryTracker::CheckAmounts(const LauncherReport& report) const {
  const bool known = launchers_.count(report.launcher.id) + reports_.count(report.launcher.id) > 0;
  if (!known && reports_.size() >= max_waiters_) {
    return absl::ResourceExhaustedError(absl::StrCat(
        reports_.size(),
        " launchers have reported already, the limit (musterd --max-members raises it)"));
  }
  const size_t bytes = BytesOf(report);
  const auto before = reports_.find(report.launcher.id);
  const size_t freed = before == reports_.end() ? 0 : BytesOf(*before->second);
  if (bytes > kMaxReportBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the report has ", bytes, " bytes; a launcher may send ", kMaxReportBytes,
                     " bytes of one inquiry; send the report without files"));
  }
  if (held_bytes_ - freed + bytes > kMaxHeldBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("all launchers together may send ", kMaxHeldBytes,
                     " bytes of one inquiry, and this report exceeds that; send it without files"));
  }
  return absl::OkStatus();
}

// Returns the processes of the report, and removes what it says of processes outside the job. An
// error says why the report is not taken.
absl::StatusOr<std::vector<Incarnation>> InquiryTracker::Admit(LauncherReport* report) const {
  std::vector<Incarnation> own = report->launcher.processes;
  for (const RankObservation& observation : report->ranks) own.push_back(observation.incarnation);
  if (!members_.MayReportOn(report->launcher.id, own)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the report of the launcher of node '", report->launcher.node,
                     "' names no member of this job that no other launcher has reported; a "
                     "launcher proves which ranks are its own by sending their process secrets"));
  }
  if (members_.complete()) {
    report->ranks.erase(std::remove_if(report->ranks.begin(), report->ranks.end(),
                                       [this](const auto& observation) {
                                         return !members_.Has(observation.incarnation);
                                       }),
                        report->ranks.end());
  }
  return own;
}

absl::Status InquiryTracker::Take(Time now, uint64_t number, LauncherReport report) {
  if (number == 0 || number != number_) {
    return absl::FailedPreconditionError(absl::StrCat("inquiry ", number,
                                                      " is not the current one, ", number_,
                                                      "; call GetInquiry for that one"));
  }
  absl::StatusOr<std::vector<Incarnation>> own = Admit(&report);
  if (!own.ok()) return own.status();
  if (absl::Status s = CheckAmounts(report); !s.ok()) return s;
  for (RankObservation& observation : report.ranks) {
    observation.node = report.launcher.node;
    if (const auto rank = members_.RankOf(observation.incarnation)) observation.rank = rank;
  }
  const std::string id = report.launcher.id;
  members_.NoteReport(id, *own);
  if (const auto known = launchers_.find(id); known != launchers_.end()) {
    known->second.gone = now;
    known->second.identity.processes = *std::move(own);
  }
  const auto before = reports_.find(id);
  if (before != reports_.end()) held_bytes_ -= BytesOf(*before->second);
  held_bytes_ += BytesOf(report);
  reports_[id] = std::make_shared<const LauncherReport>(std::move(report));
  return absl::OkStatus();
}

absl::Status InquiryTracker::CheckRoom() const {
  if (watchers_.size() < max_waiters_) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      watchers_.size(),
      " calls wait for an inquiry already, the limit (musterd --max-members raises it)"));
}

void InquiryTracker::MakeRoomForLauncher() {
  if (launchers_.size() < max_waiters_) return;
  auto first = launchers_.end();
  for (auto it = launchers_.begin(); it != launchers_.end(); ++it) {
    if (it->second.call != 0) continue;
    if (first == launchers_.end() || it->second.gone < first->second.gone) first = it;
  }
  if (first != launchers_.end()) launchers_.erase(first);
}

WaiterId InquiryTracker::Watch(WaiterId id, Watcher watcher, const LauncherIdentity& launcher) {
  WaiterId superseded = 0;
  if (!watcher.launcher.empty()) {
    if (launchers_.count(watcher.launcher) == 0) MakeRoomForLauncher();
    Launcher& known = launchers_[watcher.launcher];
    superseded = known.call;
    Forget(watcher.until, superseded);
    // An older launcher shows its processes in its reports only.
    std::vector<Incarnation> shown = std::move(known.identity.processes);
    known = {launcher, id, {}};
    if (known.identity.processes.empty()) known.identity.processes = std::move(shown);
  }
  by_deadline_.emplace(watcher.until, id);
  watchers_[id] = std::move(watcher);
  return superseded;
}

bool InquiryTracker::Forget(Time now, WaiterId id) {
  const auto found = watchers_.find(id);
  if (found == watchers_.end()) return false;
  const auto launcher = launchers_.find(found->second.launcher);
  if (launcher != launchers_.end() && launcher->second.call == id) {
    launcher->second.call = 0;
    launcher->second.gone = now;
  }
  by_deadline_.erase({found->second.until, id});
  watchers_.erase(found);
  return true;
}

std::vector<InquiryTracker::Ended> InquiryTracker::TakeExpired(Time now) {
  std::vector<Ended> expired;
  while (!by_deadline_.empty() && by_deadline_.begin()->first <= now) {
    const WaiterId id = by_deadline_.begin()->second;
    expired.push_back({id, watchers_.at(id).reports});
    Forget(now, id);
  }
  return expired;
}

std::vector<InquiryTracker::Ended> InquiryTracker::TakeAnswered(Time now) {
  std::vector<Ended> answered;
  for (const auto& [id, watcher] : watchers_) {
    if (HasNewer(watcher.after)) answered.push_back({id, watcher.reports});
  }
  for (const Ended& ended : answered) Forget(now, ended.call);
  return answered;
}

std::vector<WaiterId> InquiryTracker::End() {
  std::vector<WaiterId> all;
  for (const auto& [id, watcher] : watchers_) all.push_back(id);
  watchers_.clear();
  by_deadline_.clear();
  launchers_.clear();
  open_ = false;
  closes_ = absl::InfiniteFuture();
  return all;
}

InquiryStatus InquiryTracker::Status(Time now) const {
  InquiryStatus status;
  if (number_ == 0) return status;
  status.number = number_;
  status.reason = reason_;
  status.wants_files = requested_;
  status.open = open_;
  status.age = now - began_;
  status.verdict = open_ ? "" : verdict_.text;
  status.kind = open_ ? "" : NameOf(verdict_.kind);
  status.awaited_nodes = Awaited();
  status.complete = !open_ && status.awaited_nodes.empty() &&
                    std::all_of(reports_.begin(), reports_.end(),
                                [](const auto& entry) { return entry.second->complete; });
  return status;
}

std::vector<InquiryTracker::SharedReport> InquiryTracker::Reports() const {
  std::vector<SharedReport> reports;
  for (const auto& [id, report] : reports_) reports.push_back(report);
  std::stable_sort(reports.begin(), reports.end(),
                   [](const SharedReport& a, const SharedReport& b) {
                     return a->launcher.node < b->launcher.node;
                   });
  return reports;
}

InquiryTracker::SharedReport InquiryTracker::ReportOf(const std::string& launcher) const {
  const auto found = reports_.find(launcher);
  return found == reports_.end() ? nullptr : found->second;
}

}  // namespace muster::core
