// A program with the loop of docs/recover.md. With the argument "die", rank 1 kills itself at step
// 3 of its first run.

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "muster/muster.h"

constexpr int kSteps = 5;
bool dies = false;

// Trains from step `first` on. `*done` counts the completed steps.
absl::Status Train(muster::Job& job, int first, int* done) {
  for (int step = first; step < kSteps; ++step) {
    if (dies && job.rank() == 1 && step == 3) kill(getpid(), SIGKILL);
    absl::Status met = job.Barrier("step " + std::to_string(step));
    if (!met.ok()) return met;
    *done = step + 1;
  }
  return absl::OkStatus();
}

absl::Status TrainElastic(muster::Job& job) {
  int done = 0;
  while (true) {
    // Rank 0 of a later epoch is a survivor: all ranks go on from what it had reached.
    absl::StatusOr<int> first = job.Broadcast(done, 0);
    absl::Status status = first.ok() ? Train(job, *first, &done) : first.status();
    if (status.ok()) return job.Leave();
    if (!absl::IsAborted(status)) return status;
    std::cerr << "epoch " << job.epoch() << " is over: " << status.message() << std::endl;
    if (!job.Rejoin().ok()) return status;  // not elastic, or too few ranks are left
  }
}

int main(int argc, char** argv) {
  const char* const restarts = std::getenv("MUSTER_RESTART_COUNT");
  dies = argc > 1 && std::string(argv[1]) == "die" && restarts != nullptr && *restarts == '0';
  auto job = muster::Job::Join(muster::JobOptions::FromEnvironment());
  absl::Status status = job.ok() ? TrainElastic(**job) : job.status();
  if (!status.ok()) std::cerr << status.message() << std::endl;
  if (status.ok()) std::cout << "rank " << (*job)->rank() << " has left" << std::endl;
  return muster::ExitCode(status);
}
