#ifndef MUSTER_CLIENT_CLI_INQUIRE_REPLAY_COMMAND_H_
#define MUSTER_CLIENT_CLI_INQUIRE_REPLAY_COMMAND_H_

#include <optional>
#include <string>

namespace muster::cli {

// The flags of `muster replay` as typed.
struct ReplayFlags {
  std::string journal;
  std::optional<std::string> at;     // show the status at this time
  std::optional<std::string> trace;  // write a trace to this file
  bool json = false;
};

// Runs `muster replay`: feeds the journal of a musterd to the same core. Prints the timeline, or
// the status at some time, or writes a trace. Returns the exit status: 0; 1 if the journal cannot
// be replayed to its end, after printing everything before that; 64 if a flag is malformed or the
// file is not a journal.
int RunReplayCommand(const ReplayFlags& flags);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_INQUIRE_REPLAY_COMMAND_H_
