#include "client/cli/exit_reporter.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "client/cli/coordinator_client.h"

namespace muster::cli {
namespace {

constexpr absl::Duration kCallTimeout = absl::Seconds(1);

struct ExitReport {
  std::string incarnation;
  ProcessEnd end;
};

}  // namespace

struct ExitReporter::State {
  std::string address;
  std::string job;
  std::mutex mutex;
  std::condition_variable changed;
  // All below under the mutex.
  std::deque<ExitReport> reports;  // the first stays until it has been answered
  bool started = false;
  bool stopped = false;
};

ExitReporter::ExitReporter(const std::string& address, const std::string& job)
    : state_(std::make_shared<State>()) {
  state_->address = address;
  state_->job = job;
}

ExitReporter::~ExitReporter() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->stopped = true;
  state_->changed.notify_all();
}

void ExitReporter::Report(const std::string& incarnation, const ProcessEnd& end) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->reports.push_back({incarnation, end});
  if (!state_->started) std::thread([state = state_] { Run(state); }).detach();
  state_->started = true;
  state_->changed.notify_all();
}

void ExitReporter::Flush(absl::Duration timeout) {
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->changed.wait_for(lock, absl::ToChronoMilliseconds(timeout),
                           [this] { return state_->reports.empty(); });
}

void ExitReporter::Run(const std::shared_ptr<State>& state) {
  CoordinatorClient client(state->address);
  std::unique_lock<std::mutex> lock(state->mutex);
  while (true) {
    state->changed.wait(lock, [&] { return state->stopped || !state->reports.empty(); });
    if (state->stopped) return;
    const ExitReport report = state->reports.front();
    lock.unlock();
    client.ReportExit(state->job, report.incarnation, report.end, kCallTimeout).IgnoreError();
    lock.lock();
    state->reports.pop_front();
    state->changed.notify_all();
  }
}

}  // namespace muster::cli
