#ifndef MUSTER_TESTS_NCCL_CONFORMANCE_RANK_H_
#define MUSTER_TESTS_NCCL_CONFORMANCE_RANK_H_

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <map>
#include <set>
#include <string>

namespace muster::testing {

// A parsed command of a scenario: a verb, flags, and options of the form name=value.
struct Command {
  std::string verb;
  std::set<std::string> flags;
  std::map<std::string, std::string> options;

  bool Has(const std::string& flag) const { return flags.count(flag) > 0; }
  std::string Get(const std::string& option, const std::string& otherwise) const;
  int Number(const std::string& option, int otherwise) const;
};
Command ParseCommand(const std::string& line);

// The state of one rank between its commands.
struct RankState {
  int number = 0;
  int ranks = 1;
  std::string directory;  // shared by the ranks, for ids
  std::map<std::string, ncclComm_t> comms;
  cudaStream_t stream = nullptr;
  void* in = nullptr;  // on the device
  void* out = nullptr;
};

// Returns "Success", "InProgress", ...
std::string NameOf(ncclResult_t result);

// Runs the command, and returns what NCCL answered.
std::string Answer(RankState& rank, const Command& command);

// Runs a command of operations.cc. Returns "" if operations.cc does not have the verb.
std::string AnswerOperation(RankState& rank, const Command& command);

// Returns what the process holds more than at the last "mark": "nothing", or the names of the kinds
// ("threads", "files", "sockets", "device-memory", "shared-memory").
std::string AnswerHeld(const Command& command);

}  // namespace muster::testing

#endif  // MUSTER_TESTS_NCCL_CONFORMANCE_RANK_H_
