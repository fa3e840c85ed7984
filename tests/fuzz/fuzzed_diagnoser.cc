#include "tests/fuzz/fuzzed_diagnoser.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/credentials/process_secret.h"
#include "server/service/conversion/request_conversion.h"
#include "server/service/conversion/response_conversion.h"
#include "tests/fuzz/promises/promises.h"

namespace muster::fuzz {
namespace {

using core::Coordinator;
using core::Time;
using core::WaiterId;

constexpr int kLaunchers = 3;
constexpr char kLauncher[] = "lllllllllllllll";  // the first 15 bytes of a launcher's proof
// How long launchers have to report.
constexpr absl::Duration kMaxInquiryTime = absl::Seconds(10);

template <typename Request>
bool WantsReports(const Request&) {
  return false;
}
bool WantsReports(const v1::GetInquiryRequest& request) {
  return !request.without_reports() && !request.has_launcher();
}

template <typename Request>
bool ShowsMemberSecret(const std::vector<FuzzedMember>&, const Request&) {
  return true;
}
// Returns whether the report shows the secret of a member, which a stranger does not know.
bool ShowsMemberSecret(const std::vector<FuzzedMember>& members,
                       const v1::ReportInquiryRequest& report) {
  return std::any_of(members.begin(), members.end(), [&](const FuzzedMember& member) {
    const auto& shown = report.launcher().process_secrets();
    return std::count(shown.begin(), shown.end(), member.secret()) > 0 ||
           std::any_of(report.ranks().begin(), report.ranks().end(),
                       [&](const auto& seen) { return seen.secret() == member.secret(); });
  });
}

template <typename Response>
bool HasReports(const Response&) {
  return false;
}
bool HasReports(const v1::GetInquiryResponse& response) { return response.reports_size() > 0; }

template <typename Response>
void CheckSecrecy(const Response&) {}
// Checks that the answer does not contain what proves a launcher's identity.
void CheckSecrecy(const v1::GetInquiryResponse& response) {
  for (const v1::LauncherReport& report : response.reports()) {
    Check(report.launcher().id().rfind(kLauncher, 0) != 0, "what proves a launcher is not told");
    Check(report.launcher().process_secrets_size() == 0, "nor are its processes' secrets");
    for (const v1::RankObservation& seen : report.ranks()) {
      Check(seen.secret().empty(), "nor is the secret of one of them");
    }
  }
}

}  // namespace

FuzzedDiagnoser::FuzzedDiagnoser(ByteSource* bytes, const core::Options& options,
                                 const Knowledge& known, const std::vector<FuzzedMember>& members)
    : bytes_(bytes), known_(known), members_(members), diagnoser_(options) {}

void FuzzedDiagnoser::Step(Time now, const Coordinator& core) {
  switch (bytes_->Below(8)) {
    case 0:
    case 1:
      return Send<v1::RequestInquiryRequest>(now, core);
    case 2:
    case 3:
    case 4:
      return Send<v1::ReportInquiryRequest>(now, core);
    case 5:
      return CancelRandomCall(now);
    default:
      return Send<v1::GetInquiryRequest>(now, core);
  }
}

void FuzzedDiagnoser::Begin(Time now, const core::InquiryCause& cause) {
  const bool may = MayBegin(now, cause.job->state);
  const uint64_t before = number_;
  Take(now, diagnoser_.Begin(now, cause));
  if (number_ > before) Note(*cause.job);
  const std::optional<core::InquiryStatus> status = diagnoser_.Status(now);
  Check(!may || (status && status->reason == cause.reason),
        "an inquiry that may begin begins, and says why");
}

void FuzzedDiagnoser::Note(const core::JobStatus& job) {
  job_has_formed_ = job.epoch && job.state != core::JobState::kReforming;
}

void FuzzedDiagnoser::Tick(Time now) { Take(now, diagnoser_.Tick(now)); }

void FuzzedDiagnoser::Drain(Time now) {
  open_ = false;
  Take(now, diagnoser_.Drain("the end"));
  Check(calls_.empty(), "a diagnoser that drains leaves no call behind");
  Check(NextDeadline() == absl::InfiniteFuture(), "after it has drained nothing is due");
}

std::string FuzzedDiagnoser::Word(std::vector<std::string> words) { return bytes_->Pick(words); }

// Returns one of a few launchers, or sometimes one that never calls again.
v1::LauncherIdentity FuzzedDiagnoser::Launcher() {
  const int launcher = static_cast<int>(bytes_->Below(kLaunchers + 1));
  const char last =
      static_cast<char>(launcher == kLaunchers ? 128 + bytes_->Below(128) : '0' + launcher);
  v1::LauncherIdentity identity;
  identity.set_id(kLauncher + std::string(1, last));
  identity.set_node(std::string(1, static_cast<char>('a' + launcher % 2)));
  identity.set_pid(launcher);
  for (const FuzzedMember& member : members_) {
    if (bytes_->OneIn(4)) identity.add_process_secrets(member.secret());
  }
  return identity;
}

void FuzzedDiagnoser::Write(v1::RequestInquiryRequest* request) {
  request->set_job_id("job");
  request->set_reason(Word({"", "it is slow"}));
}

void FuzzedDiagnoser::Write(v1::GetInquiryRequest* request) {
  request->set_job_id("job");
  request->set_after(bytes_->OneIn(4) ? 0 : number_);
  if (!bytes_->OneIn(4)) request->mutable_wait_timeout()->set_seconds(1 + bytes_->Below(60));
  if (!bytes_->OneIn(4)) *request->mutable_launcher() = Launcher();
  if (bytes_->OneIn(4)) request->set_files_of(Launcher().id());
  request->set_without_reports(bytes_->OneIn(4));
}

void FuzzedDiagnoser::Write(v1::ReportInquiryRequest* request) {
  request->set_job_id("job");
  request->set_number(number_);
  *request->mutable_launcher() = Launcher();
  for (const FuzzedMember& member : members_) {
    if (!bytes_->OneIn(4)) Write(member, request->add_ranks());
  }
  if (bytes_->OneIn(4)) Forge(request);
  if (bytes_->OneIn(2)) {
    v1::BundleFile* const file = request->add_files();
    file->set_name(Word({"rank-0/threads.txt", "host.txt", "../escape", ""}));
    file->set_content(bytes_->Text(bytes_->Below(9)));
  }
  request->set_complete(bytes_->OneIn(2));
}

// Turns the report into a stranger's, which only contains what any caller may know.
void FuzzedDiagnoser::Forge(v1::ReportInquiryRequest* request) {
  request->mutable_launcher()->clear_process_secrets();
  for (v1::RankObservation& seen : *request->mutable_ranks()) {
    seen.set_secret(IncarnationOf(seen.secret()));
    seen.set_rank(static_cast<uint32_t>(bytes_->Below(4)));
  }
}

void FuzzedDiagnoser::Write(const FuzzedMember& member, v1::RankObservation* seen) {
  seen->set_secret(member.secret());
  seen->set_pid(member.identity().pid());
  seen->set_condition(static_cast<v1::ProcessCondition>(bytes_->Below(8)));
  seen->set_call(Word({"", "read", "write", "futex"}));
  seen->set_target(Word({"", "/data/x", "its standard output, a pipe"}));
  if (bytes_->OneIn(2)) seen->mutable_in_call_for()->set_seconds(bytes_->Byte());
  seen->set_blocked_by(Word({"", "thread 7, which computes"}));
  seen->set_dead_lock(bytes_->OneIn(8));
  for (size_t i = bytes_->Below(3); i > 0; --i) {
    v1::CommunicatorCount* const count = seen->add_communicators();
    count->set_name(Word({"communicator 1 of the world", "communicator 2 of the world"}));
    count->set_operation(Word({"AllReduce", "Broadcast"}));
    count->set_begun(bytes_->Below(4));
    count->set_ended(bytes_->Below(4));
    count->mutable_since()->set_seconds(bytes_->Byte());
  }
}

template <typename Request>
void FuzzedDiagnoser::Send(Time now, const Coordinator& core) {
  using Response = ResponseOf<Request>;
  Request request;
  if (!Compose(
          bytes_, known_, [&] { Write(&request); }, &request))
    return;
  const bool wanted = WantsReports(request);
  const bool forged = !ShowsMemberSecret(members_, request);
  const auto converted = service::FromProto(std::move(request));
  if (!converted.ok()) return CheckError(converted.status());
  const WaiterId id = ++last_id_;
  calls_.Add(id, [=](const core::Answer& answer) {
    const std::optional<Response> response = service::WholeResponse<Response>(answer);
    Check(response.has_value(), "answers can be parsed");
    CheckMessage(*response);
    CheckSecrecy(*response);
    Check(wanted || !HasReports(*response), "reports are for those who want them");
    Check(!forged || !job_has_formed_, "of a job that has formed only its own launchers tell");
  });
  const uint64_t before = number_;
  Take(now, diagnoser_.Step(now, id, *converted, core));
  if (number_ > before) Note(core.GetStatus(now));
}

void FuzzedDiagnoser::CancelRandomCall(Time now) {
  const std::optional<WaiterId> id = calls_.RemoveRandomCall(bytes_);
  if (id) Check(diagnoser_.Cancel(now, *id), "a call that waits can be given up");
}

void FuzzedDiagnoser::Take(Time now, const core::Effects& effects) {
  Check(effects.events.empty() && effects.ends.empty() && !effects.inquiry,
        "a diagnoser answers calls, and does nothing to members");
  for (const core::Reply& reply : effects.replies) calls_.Take(reply);
  CheckVerdicts(now, effects);
}

void FuzzedDiagnoser::CheckVerdicts(Time now, const core::Effects& effects) {
  const core::InquiryStatus status = diagnoser_.Status(now).value_or(core::InquiryStatus());
  Check(status.number >= number_, "the numbers of inquiries grow");
  if (status.number > number_) {
    Check(!open_, "one inquiry ends before the next one begins");
    number_ = status.number;
    began_ = now;
    open_ = true;
  }
  for (const core::LogLine& line : effects.log) CheckLogLine(line.text);
  if (effects.verdict) {
    Check(open_, "an inquiry has one verdict");
    Check(*effects.verdict == status.verdict && !status.verdict.empty(),
          "what is logged is the verdict that whoever asks is told");
    open_ = false;
    verdict_ = effects.verdict;
  }
  Check(open_ == status.open, "an inquiry is open until it has a verdict");
  Check(!open_ || now <= began_ + kMaxInquiryTime, "an inquiry ends in time");
}

}  // namespace muster::fuzz
