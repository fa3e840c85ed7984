#include "client/launcher/coordinator/rank_looks.h"

#include <algorithm>
#include <functional>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/observe/bounded_work.h"
#include "client/observe/bundle/redact.h"
#include "common/process_condition.h"
#include "common/steady_now.h"
#include "common/utf8.h"
#include "common/wire_condition.h"

namespace muster::launcher {
namespace {

using observe::File;
using observe::Sight;

// Between the two samples that show which threads compute.
constexpr absl::Duration kApart = absl::Milliseconds(300);
constexpr absl::Duration kSightPatience = absl::Seconds(3);
// How long to wait for the debugger of an earlier inquiry. Leaves time for some samples within
// kSightPatience.
constexpr absl::Duration kHeldPatience = absl::Seconds(2);
constexpr absl::Duration kFilePatience = absl::Seconds(10);
constexpr absl::Duration kStackPatience = absl::Seconds(8);
constexpr absl::Duration kNcclPatience = absl::Seconds(5);
constexpr size_t kAtOnce = 16;
constexpr size_t kMaxTextBytes = 1024;  // the coordinator's limit

std::string Text(const std::string& text) {
  return Printable(WholeCharacters(text, kMaxTextBytes));
}

muster::v1::RankObservation Convert(const WatchedRank& rank, const Sight& sight) {
  muster::v1::RankObservation out;
  out.set_secret(rank.secret);
  if (rank.rank) out.set_rank(*rank.rank);
  out.set_pid(sight.pid);
  out.set_condition(ToWire(sight.condition));
  out.set_call(Text(sight.call));
  out.set_target(Text(sight.target));
  if (sight.in_call_for) {
    out.mutable_in_call_for()->set_seconds(absl::ToInt64Seconds(*sight.in_call_for));
  }
  out.set_cpu_percent(sight.cpu_percent);
  out.set_thread(Text(sight.thread));
  out.set_blocked_by(Text(sight.blocked_by));
  out.set_dead_lock(sight.dead_lock);
  out.set_kernel_function(Text(sight.kernel_function));
  return out;
}

// Returns whether all ranks must pass the same number of bytes to this operation.
bool HasOneSize(const std::string& operation) {
  return operation == "AllReduce" || operation == "Reduce" || operation == "Broadcast" ||
         operation == "ReduceScatter";
}

void AddCommunicators(const RankActivity& activity, muster::v1::RankObservation* out) {
  for (const CommunicatorActivity& one : activity.Read()) {
    muster::v1::CommunicatorCount* const count = out->add_communicators();
    count->set_name(Text(one.name));
    count->set_operation(Text(HasOneSize(one.operation)
                                  ? absl::StrCat(one.operation, " of ", one.bytes, " bytes")
                                  : one.operation));
    count->set_begun(one.begun);
    count->set_ended(one.ended);
    const absl::Duration since = std::clamp(one.since, absl::ZeroDuration(), absl::Hours(24 * 365));
    count->mutable_since()->set_seconds(absl::ToInt64Seconds(since));
  }
}

std::string DescribeCommunicators(const RankActivity& activity) {
  std::string text;
  for (const CommunicatorActivity& one : activity.Read()) {
    absl::StrAppend(&text, Text(one.name), ": ", one.begun, " operations begun, ", one.ended,
                    " ended, the latest ", Text(one.operation), " of ", one.bytes, " bytes, ",
                    absl::FormatDuration(absl::Trunc(one.since, absl::Milliseconds(1))), " ago\n");
  }
  return text;
}

std::string LastWords(const OutputTails& tails, const std::string& rank) {
  return observe::RedactText(observe::LastLines(tails.Of(rank), OutputTails::kMaxBytes));
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
std::string FolderOf(const WatchedRank& rank) {
  return absl::StrCat(absl::StrReplaceAll(rank.name, {{" ", "-"}}), "/");
}

}  // namespace

// The observation of one rank. Locked, because the thread that looks may finish after Observe() has
// given up on it.
struct RankLooks::Seen {
  std::mutex mutex;
  Sight earlier;  // before this look; not written afterwards
  Sight sight;
  std::vector<std::pair<observe::ThreadStat, int>> threads;

  void Look(pid_t started, const observe::Stillness& stillness) {
    const pid_t pid = observe::WorkerOf(started);
    const absl::Time give_up = SteadyNow() + kHeldPatience;
    while (!LookOnce(pid, stillness, SteadyNow() >= give_up)) {
    }
  }
  // Returns false to look again, if a debugger holds the process. With `last`, takes what it sees.
  bool LookOnce(pid_t pid, const observe::Stillness& stillness, bool last) {
    observe::Look look(pid);
    Sight seen = look.Take(kApart);
    if (look.held() && !last) return false;
    if (look.held() && earlier.pid == pid) {
      seen = earlier;
    } else if (seen.thread.empty()) {
      seen.in_call_for = stillness.Of(pid, SteadyNow());
    }
    const std::lock_guard<std::mutex> lock(mutex);
    sight = std::move(seen);
    threads = look.threads();
    return true;
  }
  Sight Latest() {
    const std::lock_guard<std::mutex> lock(mutex);
    return sight;
  }
  std::vector<std::pair<observe::ThreadStat, int>> Threads() {
    const std::lock_guard<std::mutex> lock(mutex);
    return threads;
  }
};

muster::v1::RankObservation EndedRank(const WatchedRank& rank) {
  Sight sight;
  sight.pid = rank.pid;
  sight.condition = ProcessCondition::kEnded;
  return Convert(rank, sight);
}

RankLooks::RankLooks(std::vector<WatchedRank> ranks, std::shared_ptr<const OutputTails> tails,
                     const RankLooks* earlier)
    : ranks_(std::move(ranks)), tails_(std::move(tails)) {
  for (const WatchedRank& rank : ranks_) {
    seen_.push_back(std::make_shared<Seen>());
    seen_.back()->sight.pid = rank.pid;
    if (earlier != nullptr) seen_.back()->earlier = earlier->LatestOf(rank.pid);
  }
}

Sight RankLooks::LatestOf(pid_t started) const {
  for (size_t i = 0; i < ranks_.size(); ++i) {
    if (ranks_[i].pid == started) return seen_[i]->Latest();
  }
  return {};
}

std::vector<muster::v1::RankObservation> RankLooks::Observe(const observe::Stillness& stillness) {
  std::vector<std::function<void()>> work;
  for (size_t i = 0; i < ranks_.size(); ++i) {
    work.push_back(
        [seen = seen_[i], pid = ranks_[i].pid, stillness] { seen->Look(pid, stillness); });
  }
  observe::DoWithin(kSightPatience, kAtOnce, std::move(work));
  std::vector<muster::v1::RankObservation> observations;
  for (size_t i = 0; i < ranks_.size(); ++i) {
    const std::lock_guard<std::mutex> lock(seen_[i]->mutex);
    observations.push_back(Convert(ranks_[i], seen_[i]->sight));
    const RankActivity* const activity = ranks_[i].activity.get();
    if (activity != nullptr) AddCommunicators(*activity, &observations.back());
  }
  return observations;
}

std::vector<pid_t> RankLooks::Pids() const {
  std::vector<pid_t> pids;
  for (const auto& seen : seen_) {
    const std::lock_guard<std::mutex> lock(seen->mutex);
    pids.push_back(seen->sight.pid);
  }
  return pids;
}

std::vector<File> RankLooks::Gather() const {
  const auto files = std::make_shared<Files>();
  const std::vector<pid_t> pids = Pids();
  std::vector<std::function<void()>> work;
  work.push_back([files, pids] { files->Add(observe::NodeFiles(pids, kNcclPatience), ""); });
  work.push_back([files, pids] { files->Add({observe::DiskFile(pids)}, ""); });
  for (size_t i = 0; i < ranks_.size(); ++i) {
    const std::string folder = FolderOf(ranks_[i]);
    if (tails_ != nullptr) {
      work.push_back([files, folder, tails = tails_, name = ranks_[i].name] {
        files->Add({{"output.txt", LastWords(*tails, name)}}, folder);
      });
    }
    work.push_back([files, folder, seen = seen_[i], pid = pids[i]] {
      files->Add(observe::ProcessFiles(pid, seen->Threads()), folder);
    });
    work.push_back([files, folder, pid = pids[i]] {
      files->Add(observe::StackFiles(pid, kStackPatience), folder);
    });
    if (ranks_[i].activity != nullptr) {
      files->Add({{"communicators.txt", DescribeCommunicators(*ranks_[i].activity)}}, folder);
    }
  }
  observe::DoWithin(kFilePatience, kAtOnce, std::move(work));
  std::vector<File> gathered = files->Take();
  observe::Shrink(&gathered, observe::kMaxNodeBytes);
  return gathered;
}

}  // namespace muster::launcher
