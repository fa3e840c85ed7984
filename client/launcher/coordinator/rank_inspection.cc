#include "client/launcher/coordinator/rank_inspection.h"

#include <algorithm>
#include <functional>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/observe/bounded_work.h"
#include "client/observe/bundle/redact.h"
#include "common/process/steady_now.h"
#include "common/rpc/process_condition.h"
#include "common/rpc/wire_condition.h"
#include "common/text/utf8.h"

namespace muster::launcher {
namespace {

using observe::File;
using observe::ProcessSnapshot;

// Between the two samples that show which threads compute.
constexpr absl::Duration kSampleInterval = absl::Milliseconds(300);
constexpr absl::Duration kInspectionPatience = absl::Seconds(3);
// How long to wait for the debugger of an earlier inquiry. Leaves time for some samples within
// kInspectionPatience.
constexpr absl::Duration kHeldPatience = absl::Seconds(2);
constexpr absl::Duration kFilePatience = absl::Seconds(10);
constexpr absl::Duration kStackPatience = absl::Seconds(8);
constexpr absl::Duration kNcclPatience = absl::Seconds(5);
constexpr size_t kMaxThreads = 16;
constexpr size_t kMaxTextBytes = 1024;  // the coordinator's limit

std::string Text(const std::string& text) {
  return ReplaceUnprintable(TruncateUtf8(text, kMaxTextBytes));
}

muster::v1::RankObservation Convert(const WatchedRank& rank, const ProcessSnapshot& snapshot) {
  muster::v1::RankObservation out;
  out.set_secret(rank.secret);
  if (rank.rank) out.set_rank(*rank.rank);
  out.set_pid(snapshot.pid);
  out.set_condition(ToWire(snapshot.condition));
  out.set_call(Text(snapshot.call));
  out.set_target(Text(snapshot.target));
  if (snapshot.in_call_for) {
    out.mutable_in_call_for()->set_seconds(absl::ToInt64Seconds(*snapshot.in_call_for));
  }
  out.set_cpu_percent(snapshot.cpu_percent);
  out.set_thread(Text(snapshot.thread));
  out.set_blocked_by(Text(snapshot.blocked_by));
  out.set_dead_lock(snapshot.dead_lock);
  out.set_kernel_function(Text(snapshot.kernel_function));
  return out;
}

// Returns whether all ranks must pass the same number of bytes to this operation.
bool HasOneSize(const std::string& operation) {
  return operation == "AllReduce" || operation == "Reduce" || operation == "Broadcast" ||
         operation == "ReduceScatter";
}

void AddCommunicators(const ActivityReader& activity, muster::v1::RankObservation* out) {
  for (const CommunicatorActivity& communicator : activity.Read()) {
    muster::v1::CommunicatorCount* const count = out->add_communicators();
    count->set_name(Text(communicator.name));
    count->set_operation(
        Text(HasOneSize(communicator.operation)
                 ? absl::StrCat(communicator.operation, " of ", communicator.bytes, " bytes")
                 : communicator.operation));
    count->set_begun(communicator.begun);
    count->set_ended(communicator.ended);
    const absl::Duration since =
        std::clamp(communicator.since, absl::ZeroDuration(), absl::Hours(24 * 365));
    count->mutable_since()->set_seconds(absl::ToInt64Seconds(since));
  }
}

std::string DescribeCommunicators(const ActivityReader& activity) {
  std::string text;
  for (const CommunicatorActivity& communicator : activity.Read()) {
    absl::StrAppend(&text, Text(communicator.name), ": ", communicator.begun, " operations begun, ",
                    communicator.ended, " ended, the latest ", Text(communicator.operation), " of ",
                    communicator.bytes, " bytes, ",
                    absl::FormatDuration(absl::Trunc(communicator.since, absl::Milliseconds(1))),
                    " ago\n");
  }
  return text;
}

std::string LastOutput(const OutputTails& tails, const std::string& rank) {
  return observe::RedactText(observe::LastLines(tails.TailOf(rank), OutputTails::kMaxBytes));
}

// Collects the files of threads that may hang.
class Files {
 public:
  void Add(std::vector<File> files, const std::string& folder) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (File& file : files) {
      if (!file.content.empty()) files_.push_back({folder + file.name, std::move(file.content)});
    }
  }
  std::vector<File> Take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::move(files_);
  }

 private:
  std::mutex mutex_;
  std::vector<File> files_;
};

// Returns "rank-3/" for "rank 3".
std::string RankFolder(const WatchedRank& rank) {
  return absl::StrCat(absl::StrReplaceAll(rank.name, {{" ", "-"}}), "/");
}

}  // namespace

// The observation of one rank. Locked, because the inspecting thread may finish after Observe() has
// given up on it.
struct RankInspection::RankSample {
  std::mutex mutex;
  ProcessSnapshot earlier;  // before this inspection; not written afterwards
  ProcessSnapshot snapshot;
  std::vector<std::pair<observe::ThreadStat, int>> threads;

  void Inspect(pid_t started, const observe::IdleTracker& tracker) {
    const pid_t pid = observe::WorkerOf(started);
    const absl::Time give_up = SteadyNow() + kHeldPatience;
    while (!InspectOnce(pid, tracker, SteadyNow() >= give_up)) {
    }
  }
  // Returns false to look again, if a debugger holds the process. With `last`, takes what it sees.
  bool InspectOnce(pid_t pid, const observe::IdleTracker& tracker, bool last) {
    observe::ProcessSampler sampler(pid);
    ProcessSnapshot sample = sampler.Take(kSampleInterval);
    if (sampler.held() && !last) return false;
    if (sampler.held() && earlier.pid == pid) {
      sample = earlier;
    } else if (sample.thread.empty()) {
      sample.in_call_for = tracker.IdleTime(pid, SteadyNow());
    }
    const std::lock_guard<std::mutex> lock(mutex);
    snapshot = std::move(sample);
    threads = sampler.threads();
    return true;
  }
  ProcessSnapshot Latest() {
    const std::lock_guard<std::mutex> lock(mutex);
    return snapshot;
  }
  std::vector<std::pair<observe::ThreadStat, int>> Threads() {
    const std::lock_guard<std::mutex> lock(mutex);
    return threads;
  }
};

muster::v1::RankObservation EndedRank(const WatchedRank& rank) {
  ProcessSnapshot snapshot;
  snapshot.pid = rank.pid;
  snapshot.condition = ProcessCondition::kEnded;
  return Convert(rank, snapshot);
}

RankInspection::RankInspection(std::vector<WatchedRank> ranks,
                               std::shared_ptr<const OutputTails> tails,
                               const RankInspection* earlier)
    : ranks_(std::move(ranks)), tails_(std::move(tails)) {
  for (const WatchedRank& rank : ranks_) {
    samples_.push_back(std::make_shared<RankSample>());
    samples_.back()->snapshot.pid = rank.pid;
    if (earlier != nullptr) samples_.back()->earlier = earlier->LatestOf(rank.pid);
  }
}

ProcessSnapshot RankInspection::LatestOf(pid_t started) const {
  for (size_t i = 0; i < ranks_.size(); ++i) {
    if (ranks_[i].pid == started) return samples_[i]->Latest();
  }
  return {};
}

std::vector<muster::v1::RankObservation> RankInspection::Observe(
    const observe::IdleTracker& tracker) {
  std::vector<std::function<void()>> work;
  for (size_t i = 0; i < ranks_.size(); ++i) {
    work.push_back(
        [sample = samples_[i], pid = ranks_[i].pid, tracker] { sample->Inspect(pid, tracker); });
  }
  observe::RunWithin(kInspectionPatience, kMaxThreads, std::move(work));
  std::vector<muster::v1::RankObservation> observations;
  for (size_t i = 0; i < ranks_.size(); ++i) {
    const std::lock_guard<std::mutex> lock(samples_[i]->mutex);
    observations.push_back(Convert(ranks_[i], samples_[i]->snapshot));
    const ActivityReader* const activity = ranks_[i].activity.get();
    if (activity != nullptr) AddCommunicators(*activity, &observations.back());
  }
  return observations;
}

std::vector<pid_t> RankInspection::Pids() const {
  std::vector<pid_t> pids;
  for (const auto& sample : samples_) {
    const std::lock_guard<std::mutex> lock(sample->mutex);
    pids.push_back(sample->snapshot.pid);
  }
  return pids;
}

std::vector<File> RankInspection::Gather() const {
  const auto files = std::make_shared<Files>();
  const std::vector<pid_t> pids = Pids();
  std::vector<std::function<void()>> work;
  work.push_back([files, pids] { files->Add(observe::NodeFiles(pids, kNcclPatience), ""); });
  work.push_back([files, pids] { files->Add({observe::DiskFile(pids)}, ""); });
  for (size_t i = 0; i < ranks_.size(); ++i) {
    const std::string folder = RankFolder(ranks_[i]);
    if (tails_ != nullptr) {
      work.push_back([files, folder, tails = tails_, name = ranks_[i].name] {
        files->Add({{"output.txt", LastOutput(*tails, name)}}, folder);
      });
    }
    work.push_back([files, folder, sample = samples_[i], pid = pids[i]] {
      files->Add(observe::ProcessFiles(pid, sample->Threads()), folder);
    });
    work.push_back([files, folder, pid = pids[i]] {
      files->Add(observe::StackFiles(pid, kStackPatience), folder);
    });
    if (ranks_[i].activity != nullptr) {
      files->Add({{"communicators.txt", DescribeCommunicators(*ranks_[i].activity)}}, folder);
    }
  }
  observe::RunWithin(kFilePatience, kMaxThreads, std::move(work));
  std::vector<File> gathered = files->Take();
  observe::Shrink(&gathered, observe::kMaxNodeBytes);
  return gathered;
}

}  // namespace muster::launcher
