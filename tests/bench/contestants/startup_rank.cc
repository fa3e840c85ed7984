// One rank of startup.cc, which the launcher starts: startup_gloo_rank FOLDER, or
// startup_nccl_rank. It reports when it began, when it had loaded its libraries, and when its first
// barrier and its first all-reduce were over, as a line in FOLDER/replies: "RANK ran
// NANOSECONDS...", by the monotonic clock. The other sides' ranks do the same.
#include "tests/bench/contestants/startup_rank.h"

#include <cstdint>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/bench/common/clocks.h"

namespace muster::testing {
namespace {

int64_t Now() { return Nanos(CLOCK_MONOTONIC); }

absl::Status Run(const std::string& folder) {
  std::vector<int64_t> moments = {Now()};
  moments.push_back(moments.front());  // nothing is left to load
  const auto job = Job::Join(JobOptions::FromEnvironment());
  if (!job.ok()) return job.status();
  absl::Status status = (*job)->Barrier("first");
  moments.push_back(Now());
  if (status.ok()) status = FirstAllReduce(**job);
  moments.push_back(Now());
  if (!status.ok()) return status;
  std::ofstream(folder + "/replies")
      << absl::StrCat((*job)->rank(), " ran ", absl::StrJoin(moments, " "), "\n");
  return (*job)->Leave();
}

}  // namespace
}  // namespace muster::testing

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const absl::Status done = muster::testing::Run(argv[1]);
  if (!done.ok()) std::cerr << "startup_rank: " << done << std::endl;
  return done.ok() ? 0 : 1;
}
