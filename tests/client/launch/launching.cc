// A program that launches its own ranks. Arguments: what the ranks do, the number of processes on
// this machine and, for several machines, their number, the index of this machine, and the
// coordinator.
//
//   meet   join, gather the places of all ranks, print them
//   wait   join, start a process in the background, and wait for a signal

#include <signal.h>
#include <unistd.h>

#include <iostream>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "muster/job.h"
#include "muster/launch.h"

namespace {

void Print(const std::string& text) { std::cout << absl::StrCat(text, "\n") << std::flush; }

absl::Status GatherPlaces(muster::Job& job) {
  const auto places =
      job.AllGather(absl::StrCat(job.rank(), ":", job.node_rank(), ".", job.local_rank()));
  if (!places.ok()) return places.status();
  Print(absl::StrCat("rank ", job.rank(), " met ", absl::StrJoin(*places, " ")));
  return job.Leave();
}

absl::Status WaitForever(muster::Job& job) {
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    execlp("sleep", "sleep", "1000", nullptr);
    _exit(127);
  }
  Print(absl::StrCat("rank ", job.rank(), " pid ", getpid(), " child ", child, " parent ",
                     getppid(), " ready"));
  while (true) pause();
}

absl::Status Rank(const std::string& what) {
  const auto job = muster::Job::Join(muster::JobOptions::FromEnvironment());
  if (!job.ok()) return job.status();
  return what == "meet" ? GatherPlaces(**job) : WaitForever(**job);
}

}  // namespace

int main(int argc, char** argv) {
  muster::LaunchOptions options;
  if (argc < 3 || !absl::SimpleAtoi(argv[2], &options.nproc_per_node)) return 2;
  if (argc > 5) {
    if (!absl::SimpleAtoi(argv[3], &options.nnodes)) return 2;
    if (!absl::SimpleAtoi(argv[4], &options.node_rank)) return 2;
    options.coordinator = argv[5];
  }
  const auto result = muster::Launch(options, Rank, std::string(argv[1]));
  const absl::Status status = result.ok() ? result->status() : result.status();
  Print(absl::StrCat("launched: ", status.ToString(absl::StatusToStringMode::kWithNoExtraData)));
  return status.ok() ? 0 : 3;
}
