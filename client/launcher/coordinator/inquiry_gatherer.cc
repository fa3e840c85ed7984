#include "client/launcher/coordinator/inquiry_gatherer.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/launcher/coordinator/coordinator_client.h"
#include "client/launcher/coordinator/verdict_file.h"
#include "client/observe/bundle/bundle_folder.h"
#include "common/process/start_thread.h"
#include "common/process/steady_now.h"

namespace muster::launcher {
namespace {

using muster::v1::GetInquiryRequest;
using muster::v1::Inquiry;
using muster::v1::ReportInquiryRequest;
using observe::File;

constexpr int kMaxBundles = 10;
// Time for the other nodes' reports, on which the verdict depends.
constexpr absl::Duration kVerdictPatience = absl::Seconds(15);
constexpr absl::Duration kVerdictPoll = absl::Milliseconds(200);

// How many bytes of files to offer the coordinator, tried in turn until it accepts.
constexpr size_t kByteLimits[] = {observe::kMaxNodeBytes, observe::kMaxNodeBytes / 16 * 15,
                                  observe::kMaxNodeBytes / 2, observe::kMaxNodeBytes / 8, 0};

void SetFiles(const std::vector<File>& files, ReportInquiryRequest* report) {
  report->clear_files();
  for (const File& file : files) {
    muster::v1::BundleFile* const sent = report->add_files();
    sent->set_name(file.name);
    sent->set_content(file.content);
  }
}

// Blocks until the inquiry has ended and returns its verdict.
absl::StatusOr<std::string> AwaitVerdict(CoordinatorClient* client, const std::string& job,
                                         uint64_t number) {
  GetInquiryRequest request;
  request.set_job_id(job);
  request.set_without_reports(true);
  for (const absl::Time give_up = SteadyNow() + kVerdictPatience; SteadyNow() < give_up;) {
    const auto now = client->GetInquiry(request, kCallTimeout);
    if (!now.ok()) return now.status();
    if (now->inquiry().number() != number) {
      return absl::NotFoundError("another inquiry has begun since; the verdict is in its log");
    }
    if (!now->inquiry().open()) return now->inquiry().verdict();
    absl::SleepFor(kVerdictPoll);
  }
  return absl::DeadlineExceededError(
      absl::StrCat("it has reached none within ", absl::FormatDuration(kVerdictPatience)));
}

}  // namespace

void SendReport(CoordinatorClient* client, ReportInquiryRequest report, std::vector<File> files) {
  for (const size_t limit : kByteLimits) {
    observe::Shrink(&files, limit);
    SetFiles(files, &report);
    const absl::Status status = client->ReportInquiry(report, kCallTimeout);
    if (!absl::IsResourceExhausted(status) || files.empty()) return;
  }
}

bool InquiryGatherer::Reserve(const Inquiry& inquiry) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool writes = !busy_ && !debug_dir_.empty() && bundles_ < kMaxBundles;
  if (writes) writing_ = true;
  return writes || inquiry.wants_files();
}

void InquiryGatherer::Start(Task task) {
  task.report.set_complete(true);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (busy_) {
      next_ = std::move(task);
      return;
    }
    busy_ = true;
  }
  const absl::Status started = StartDetachedThread(
      "gather what the ranks are doing", [self = shared_from_this(), task] { self->Run(task); });
  if (!started.ok()) GiveUp(std::move(task), started);
}

void InquiryGatherer::GiveUp(Task task, const absl::Status& why) {
  notify_(absl::StrCat("cannot collect what the ranks here are doing: ", why.message()));
  writing_ = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    busy_ = false;
  }
  if (task.inquiry.wants_files()) SendReport(task.client.get(), std::move(task.report), {});
}

void InquiryGatherer::Run(Task task) {
  for (std::optional<Task> next = std::move(task); next; next = Next()) {
    Deliver(*std::move(next));
    writing_ = false;
  }
}

std::optional<InquiryGatherer::Task> InquiryGatherer::Next() {
  const std::lock_guard<std::mutex> lock(mutex_);
  busy_ = next_.has_value();
  return std::exchange(next_, std::nullopt);
}

void InquiryGatherer::Deliver(Task task) {
  std::vector<File> files = task.inspection->Gather();
  if (task.inquiry.wants_files()) SendReport(task.client.get(), task.report, files);
  if (writing_) Write(task, std::move(files));
}

void InquiryGatherer::Write(const Task& task, std::vector<File> files) {
  const std::string node =
      absl::StrCat("nodes/", observe::PathPart(task.report.launcher().node()), "/");
  for (File& file : files) file.name = absl::StrCat(node, file.name);
  const Inquiry& inquiry = task.inquiry;
  const absl::StatusOr<std::string> verdict =
      AwaitVerdict(task.client.get(), task.report.job_id(), inquiry.number());
  const std::string conclusion =
      verdict.ok() ? absl::StrCat("verdict: ", *verdict)
                   : absl::StrCat("no verdict from the coordinator: ", verdict.status().message());
  files.push_back(VerdictFile(absl::StrCat(verdict.ok() ? *verdict : conclusion, "\n"), inquiry));
  const std::string folder = absl::StrCat(debug_dir_, "/", observe::BundleName(BeganAt(inquiry)));
  const absl::Status written = observe::WriteFiles(folder, files);
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::string last_bundle_note =
      ++bundles_ == kMaxBundles ? "; it is the last one of this run" : "";
  notify_(written.ok() ? absl::StrCat("wrote what the ranks here are doing to ", folder,
                                      last_bundle_note, "; ", conclusion)
                       : absl::StrCat("--debug-dir: ", written.message()));
}

}  // namespace muster::launcher
