#include "client/observe/idle_sampler.h"

#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "client/observe/bounded_work.h"
#include "common/process/steady_now.h"

namespace muster::observe {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(1);
constexpr size_t kMaxThreads = 16;

}  // namespace

// One sample of one process.
struct IdleSampler::RunCountSample {
  std::mutex mutex;
  bool begun = false;
  bool ended = false;
  pid_t worker = 0;
  std::string runs;

  void Take(pid_t started) {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      begun = true;
    }
    const pid_t pid = WorkerOf(started);
    std::string count = RunCountOf(pid, pid);
    const std::lock_guard<std::mutex> lock(mutex);
    ended = true;
    worker = pid;
    runs = std::move(count);
  }
  bool Hangs() {
    const std::lock_guard<std::mutex> lock(mutex);
    return begun && !ended;
  }
  void AddTo(std::map<pid_t, std::string>* run_counts) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (ended) run_counts->emplace(worker, runs);
  }
};

void IdleSampler::Sample(const std::vector<pid_t>& started) {
  std::map<pid_t, std::shared_ptr<RunCountSample>> samples;
  std::vector<std::function<void()>> work;
  for (pid_t pid : started) {
    const auto before = samples_.find(pid);
    const bool hangs = before != samples_.end() && before->second->Hangs();
    const auto sample = hangs ? before->second : std::make_shared<RunCountSample>();
    samples.emplace(pid, sample);
    if (!hangs) work.push_back([sample, pid] { sample->Take(pid); });
  }
  samples_ = std::move(samples);
  RunWithin(kPatience, kMaxThreads, std::move(work));
  std::map<pid_t, std::string> run_counts;
  for (const auto& [pid, sample] : samples_) sample->AddTo(&run_counts);
  tracker_.Update(run_counts, SteadyNow());
}

}  // namespace muster::observe
