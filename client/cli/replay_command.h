#ifndef MUSTER_CLIENT_CLI_REPLAY_COMMAND_H_
#define MUSTER_CLIENT_CLI_REPLAY_COMMAND_H_

#include <optional>
#include <string>

namespace muster::cli {

// The flags of `muster replay` as they were typed.
struct ReplayFlags {
  std::string journal;
  std::optional<std::string> at;     // show the status as it was then
  std::optional<std::string> trace;  // write a trace there
  bool json = false;
};

// `muster replay`: feeds the journal of a musterd to the same core, and prints the timeline, or the
// status as it was at a time, or writes a trace. Returns the exit status: 0; 1 if the journal
// cannot be replayed to its end, which is said after what came before; 64 for malformed flags, or a
// file that is no journal.
int RunReplayCommand(const ReplayFlags& flags);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_REPLAY_COMMAND_H_
