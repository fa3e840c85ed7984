// Some of the members of a job, for scale.cc: scale_members FOLDER PART PARTS WORLD PER_CONNECTION.
// It reads commands, one a line, from the pipe FOLDER/commands.PART, and lets all its members
// follow each one at once. When the last member is done, it answers with a line in FOLDER/replies:
// "PART done BEGIN END CPU BYTES". BEGIN, END and CPU are nanoseconds, the first two of the
// machine's monotonic clock. BYTES are the bytes of answers.
//
// At the start it answers "PART up". The commands are functions of scale_swarm.h: attach ADDRESS,
// join, barrier, all-gather BYTES, barrier-by-node, all-gather-by-node BYTES, park, await-loss and
// await-end.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/bench/common/clocks.h"
#include "tests/bench/swarm/scale_swarm.h"

namespace muster::testing {
namespace {

// Allows enough file descriptors for the connections.
void RaiseDescriptorLimit() {
  rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

absl::Status Do(const std::string& line, Swarm* swarm) {
  std::istringstream words(line);
  std::string command;
  std::string address;
  size_t bytes = 0;
  words >> command;
  if (command == "attach" && words >> address) return swarm->Attach(address);
  if (command == "join") return swarm->Join();
  if (command == "barrier") return swarm->Barrier();
  if (command == "all-gather" && words >> bytes) return swarm->AllGather(bytes);
  if (command == "barrier-by-node") return swarm->BarrierByNode();
  if (command == "all-gather-by-node" && words >> bytes) return swarm->AllGatherByNode(bytes);
  if (command == "await-loss") return swarm->AwaitLoss();
  if (command == "await-end") return swarm->AwaitEnd();
  if (command != "park") return absl::InvalidArgumentError("unknown command: " + line);
  swarm->Park();
  return absl::OkStatus();
}

int Main(const std::string& folder, int part, int parts, int world, int per_connection) {
  RaiseDescriptorLimit();
  std::ifstream commands(absl::StrCat(folder, "/commands.", part));
  const int replies = open(absl::StrCat(folder, "/replies").c_str(), O_WRONLY | O_CLOEXEC);
  const auto reply = [&](const std::string& words) {
    dprintf(replies, "%d %s\n", part, words.c_str());
  };
  // Each part has whole nodes.
  const auto first = [&](int p) {
    return static_cast<int>(int64_t{world} * p / parts / kMembersOfNode * kMembersOfNode);
  };
  const int end = part + 1 == parts ? world : first(part + 1);
  Swarm swarm(first(part), end - first(part), world, per_connection);
  reply("up");
  for (std::string line; std::getline(commands, line);) {
    const int64_t cpu = Nanos(CLOCK_PROCESS_CPUTIME_ID);
    const int64_t begin = Nanos(CLOCK_MONOTONIC);
    const absl::Status done = Do(line, &swarm);
    const int64_t ended = Nanos(CLOCK_MONOTONIC);
    if (!done.ok()) {
      reply("failed " + absl::StrReplaceAll(done.ToString(), {{"\n", " "}}));
      return 1;
    }
    reply(absl::StrCat("done ", begin, " ", ended, " ", Nanos(CLOCK_PROCESS_CPUTIME_ID) - cpu, " ",
                       swarm.TakeBytes()));
  }
  return 0;
}

}  // namespace
}  // namespace muster::testing

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  return muster::testing::Main(argv[1], std::stoi(argv[2]), std::stoi(argv[3]), std::stoi(argv[4]),
                               std::stoi(argv[5]));
}
