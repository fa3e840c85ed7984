#include "client/cli/inquire/debug_command.h"

#include <filesystem>
#include <iostream>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cli/inquire/coordinator_query.h"
#include "client/cli/inquire/coordinator_target.h"
#include "client/cli/inquire/debug_report.h"
#include "client/cli/inquire/message.h"
#include "client/cli/inquire/status_report.h"
#include "client/cli/inquire/tar.h"
#include "client/cli/text/terminal_width.h"
#include "client/launcher/coordinator/coordinator_client.h"
#include "client/launcher/coordinator/verdict_file.h"
#include "client/observe/bundle/bundle_folder.h"
#include "common/process/exit_codes.h"
#include "common/process/steady_now.h"

namespace muster::cli {
namespace {

using muster::v1::GetInquiryRequest;
using muster::v1::GetInquiryResponse;
using muster::v1::GetStatusResponse;
using observe::File;

constexpr absl::Duration kCallTimeout = absl::Seconds(10);
constexpr absl::Duration kPoll = absl::Milliseconds(200);
constexpr absl::Duration kMaxWait = absl::Minutes(10);
// Time to outwait an inquiry that the coordinator began on its own. It is open for at most 10 s,
// and no other inquiry begins within 2 s of its start.
constexpr absl::Duration kOtherInquiryPatience = absl::Seconds(15);

std::string NoVerdictReason(const std::string& address, const absl::Status& error) {
  if (!absl::IsUnimplemented(error)) return NoAnswerReason(address, error, kCallTimeout);
  return "this musterd is older than this muster and has no inquiries; install one version of both "
         "('muster status' works with either)";
}

// One inquiry at one coordinator.
class DebugInquiry {
 public:
  DebugInquiry(const CoordinatorTarget& target, const DebugFlags& flags, absl::Duration wait)
      : job_(flags.job), wait_(wait), client_(target.address.ToString(), target.credentials) {}

  // Blocks until all launchers have sent their files, or the user's timeout has passed, and there
  // is a verdict.
  absl::Status Run() {
    const absl::StatusOr<uint64_t> number = Request();
    if (!number.ok()) return number.status();
    const absl::Time deadline = SteadyNow() + wait_;
    while (true) {
      if (absl::Status s = FetchInquiry(/*reports=*/false); !s.ok()) return s;
      const muster::v1::Inquiry& now = inquiry_.inquiry();
      const bool over = now.number() != *number || now.complete();
      if (over || (SteadyNow() >= deadline && !now.open())) break;
      absl::SleepFor(kPoll);
    }
    if (absl::Status s = FetchInquiry(/*reports=*/true); !s.ok()) return s;
    return FetchStatus();
  }

  absl::StatusOr<std::vector<File>> Files() {
    std::vector<File> files;
    for (const auto& report : inquiry_.reports()) {
      GetInquiryRequest request;
      request.set_job_id(job_);
      request.set_files_of(report.launcher().id());
      auto answer = client_.GetInquiry(request, kCallTimeout);
      if (!answer.ok()) return answer.status();
      const std::string folder = LauncherFolder(report, inquiry_);
      for (auto& file : *answer->mutable_files()) {
        files.push_back({folder + file.name(), std::move(*file.mutable_content())});
      }
    }
    return files;
  }

  const GetInquiryResponse& inquiry() const { return inquiry_; }
  const GetStatusResponse& status() const { return status_; }

 private:
  // Returns the number of a new inquiry that gathers files. While another inquiry is open, or has
  // just begun, the coordinator returns that one. Then waits and retries, and in the end returns
  // the other inquiry, which has no files.
  absl::StatusOr<uint64_t> Request() {
    muster::v1::RequestInquiryRequest request;
    request.set_job_id(job_);
    const absl::Time give_up = SteadyNow() + kOtherInquiryPatience;
    for (bool announced = false;; announced = true) {
      const auto begun = client_.RequestInquiry(request, kCallTimeout);
      if (!begun.ok()) return begun.status();
      if (absl::Status s = FetchInquiry(/*reports=*/false); !s.ok()) return s;
      const muster::v1::Inquiry& now = inquiry_.inquiry();
      if (now.number() == begun->number() && now.wants_files()) return now.number();
      if (SteadyNow() >= give_up) break;
      if (!announced)
        Say("the coordinator has an inquiry of its own under way, which collects no files; waiting "
            "for its end, then asking again");
      absl::SleepFor(kPoll);
    }
    Say("no inquiry with files could begin, so the bundle lacks the files of the nodes; run muster "
        "debug again later");
    return inquiry_.inquiry().number();
  }

  absl::Status FetchInquiry(bool reports) {
    GetInquiryRequest request;
    request.set_job_id(job_);
    request.set_without_reports(!reports);
    auto answer = client_.GetInquiry(request, kCallTimeout);
    if (!answer.ok()) return answer.status();
    inquiry_ = *std::move(answer);
    return absl::OkStatus();
  }

  absl::Status FetchStatus() {
    auto answer = client_.GetStatus(kCallTimeout, /*wait_for_connection=*/false, job_);
    if (!answer.ok()) return answer.status();
    status_ = *std::move(answer);
    return absl::OkStatus();
  }

  const std::string job_;
  const absl::Duration wait_;
  launcher::CoordinatorClient client_;
  GetInquiryResponse inquiry_;
  GetStatusResponse status_;
};

// Returns the files of the bundle, the verdict first.
absl::StatusOr<std::vector<File>> Bundle(DebugInquiry* debug_inquiry) {
  absl::StatusOr<std::vector<File>> files = debug_inquiry->Files();
  if (!files.ok()) return files.status();
  const std::string report = FullDebugReport(debug_inquiry->inquiry(), debug_inquiry->status());
  files->insert(files->begin(), launcher::VerdictFile(report, debug_inquiry->inquiry().inquiry()));
  const absl::StatusOr<std::string> status = StatusJson(debug_inquiry->status());
  if (status.ok()) files->push_back({"coordinator/status.json", *status});
  files->push_back({"coordinator/status.txt", StatusReport(debug_inquiry->status(), 0)});
  return files;
}

bool IsTar(const std::string& output) {
  return output == "-" || absl::EndsWith(output, ".tar") || IsCompressedTar(output);
}

// Checks the destination before the inquiry. If writing failed only afterwards, the hang might be
// over by then.
absl::Status CheckTar(const std::string& output) {
  const std::filesystem::path folder = std::filesystem::path(output).parent_path();
  std::error_code error;
  if (folder.empty() || std::filesystem::is_directory(folder, error)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--output: there is no folder ", folder.string(),
                                                 "; create the folder, or name another file"));
}

// Refuses a folder that is not empty, because an older bundle's files would mix with this one's.
absl::Status CheckOutput(const std::string& output) {
  std::error_code error;
  if (IsTar(output)) return CheckTar(output);
  if (output.empty() || !std::filesystem::exists(output, error)) return absl::OkStatus();
  if (std::filesystem::is_directory(output, error) && std::filesystem::is_empty(output, error)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--output: ", output,
                   " exists and is not an empty folder; name another folder, or FILE.tar"));
}

// Writes the bundle to `output`, a folder or a tar, and returns where it is.
absl::StatusOr<std::string> Write(const std::string& output, const std::string& name,
                                  const std::vector<File>& files) {
  if (!IsTar(output)) {
    const std::string folder = output.empty() ? absl::StrCat("muster-", name) : output;
    const absl::Status written = observe::WriteFiles(folder, files);
    if (!written.ok()) return written;
    return folder;
  }
  const absl::Status written = WriteTar(output, name, files);
  if (!written.ok()) return written;
  return output;
}

int Debug(const CoordinatorTarget& target, const DebugFlags& flags, absl::Duration wait) {
  DebugInquiry debug_inquiry(target, flags, wait);
  if (absl::Status s = debug_inquiry.Run(); !s.ok()) {
    const std::string address = target.address.ToString();
    return Fail(exit_codes::kFailed, absl::StrCat("no verdict from the coordinator at ", address,
                                                  ": ", NoVerdictReason(address, s)));
  }
  // Standard output may carry the tar.
  std::ostream& out = flags.output == "-" ? std::cerr : std::cout;
  out << DebugReport(debug_inquiry.inquiry(), debug_inquiry.status(), TerminalWidth())
      << std::flush;
  const absl::StatusOr<std::vector<File>> files = Bundle(&debug_inquiry);
  if (!files.ok()) return Fail(exit_codes::kFailed, files.status().message());
  const absl::StatusOr<std::string> written =
      Write(flags.output, observe::BundleName(launcher::BeganAt(debug_inquiry.inquiry().inquiry())),
            *files);
  if (!written.ok()) return Fail(exit_codes::kFailed, written.status().message());
  if (flags.output != "-") out << "\nthe bundle is in " << *written << "\n";
  return 0;
}

absl::StatusOr<absl::Duration> ParseWait(const std::string& text) {
  absl::Duration wait;
  if (absl::ParseDuration(text, &wait) && wait >= absl::ZeroDuration() && wait <= kMaxWait)
    return wait;
  return absl::InvalidArgumentError(
      absl::StrCat("--wait is '", text, "'; expected a duration of at most 10m, such as 15s"));
}

}  // namespace

int RunDebugCommand(const DebugFlags& flags) {
  const absl::StatusOr<std::vector<CoordinatorTarget>> targets =
      FindCoordinatorTargets(flags.coordinator, flags.job, flags.credentials);
  if (absl::IsNotFound(targets.status()))
    return Fail(exit_codes::kFailed, targets.status().message());
  if (!targets.ok()) return Fail(exit_codes::kBadConfiguration, targets.status().message());
  const absl::StatusOr<absl::Duration> wait = ParseWait(flags.wait);
  absl::Status usable = wait.status();
  if (usable.ok()) usable = CheckOutput(flags.output);
  if (usable.ok() && targets->size() > 1) {
    usable = absl::InvalidArgumentError(absl::StrCat(
        "there are ", targets->size(), " jobs here; say which by --job or --coordinator"));
  }
  if (usable.ok()) usable = PrepareForQueries(targets->front().credentials);
  if (!usable.ok()) return Fail(exit_codes::kBadConfiguration, usable.message());
  return Debug(targets->front(), flags, *wait);
}

}  // namespace muster::cli
