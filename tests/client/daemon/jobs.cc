#include "tests/client/daemon/jobs.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "absl/strings/string_view.h"
#include "tests/util/job/status_reader.h"

namespace muster::testing {

JobOptions OptionsFor(const std::string& coordinator) {
  JobOptions options;
  options.coordinator = coordinator;
  options.timeout = absl::Seconds(60);
  options.coordinator_timeout = absl::Seconds(60);
  const char* const fanin = std::getenv("MUSTER_NODE_FANIN");  // as JobOptions::FromEnvironment()
  options.node_fanin = fanin == nullptr || absl::string_view(fanin) != "0";
  return options;
}

Jobs::Jobs(int size, const std::vector<std::string>& flags,
           const std::function<void(int, JobOptions*)>& adjust)
    : daemon_(TestDaemon::Start(flags)) {
  Join(daemon_->address(), size, adjust);
}

Jobs::Jobs(const std::string& coordinator, int size,
           const std::function<void(int, JobOptions*)>& adjust) {
  Join(coordinator, size, adjust);
}

void Jobs::Join(const std::string& coordinator, int size,
                const std::function<void(int, JobOptions*)>& adjust) {
  jobs_.resize(size);
  std::vector<std::thread> threads;
  for (int i = 0; i < size; ++i) {
    threads.emplace_back([&, i] {
      JobOptions options = OptionsFor(coordinator);
      options.world_size = size;
      options.rank = i;
      if (adjust) adjust(i, &options);
      absl::StatusOr<std::unique_ptr<Job>> job = Job::Join(options);
      ASSERT_TRUE(job.ok()) << "member " << i << ": " << job.status();
      jobs_[i] = *std::move(job);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

bool Jobs::AwaitParked(int members, const std::string& operation) {
  return StatusReader(daemon_->address()).WaitForParked(members, operation);
}

void Jobs::KillDaemon() { daemon_->Kill(); }

void Jobs::StartDaemonAgain() {
  daemon_->Restart();
  ASSERT_NE(daemon_->port(), 0);
}

void Jobs::Run(const std::function<void(int, Job&)>& body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size(); ++rank) {
    threads.emplace_back([&, rank] { body(rank, *jobs_[rank]); });
  }
  for (std::thread& thread : threads) thread.join();
}

std::string Message(const absl::Status& status) { return std::string(status.message()); }

}  // namespace muster::testing
