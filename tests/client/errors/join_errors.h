#ifndef MUSTER_TESTS_CLIENT_ERRORS_JOIN_ERRORS_H_
#define MUSTER_TESTS_CLIENT_ERRORS_JOIN_ERRORS_H_

#include <functional>
#include <optional>
#include <string>

#include "muster/job_options.h"

// Errors of processes that join a job, and of processes that the job has left behind. Each function
// makes one mistake and returns the text that the process gets.
namespace muster::testing {

// ---- From a coordinator without gRPC, on a clock that the test steps ----

// Joins with this world size and rank beside an earlier process with another wish. The job has
// `size` members, or takes the size of the first process if that is 0.
struct Wish {
  uint32_t world_size = 0;
  std::optional<uint32_t> rank;
};
std::string JoiningSays(uint32_t size, const std::optional<Wish>& earlier, const Wish& wish);

// Attaches with another version of the protocol.
std::string AttachingWithANewerProtocolSays();

// Rank 1 of 3 waits in Join for a minute.
std::string MissingRanksSay();
// The same, and no process has given the world size.
std::string MissingWorldSizeSays();

std::string JoiningAFullJobSays();
std::string JoiningAFinishedJobSays();
std::string JoiningAFailedJobSays();

// A call of a session that ended when the process attached again.
std::string AnOldSessionSays();
// A call of a process that was lost, and woke up.
std::string ALostProcessSays();
// A lease that went to another process while its holder was away.
std::string AnOldTokenSays();

// ---- From a real coordinator ----

// Joins a coordinator that listens on no port.
std::string JoiningNobodySays();
// Joins a coordinator of job "training" as a process of job "evaluation".
std::string JoiningAnotherJobSays();
// Joins a coordinator that asks for a token, with a token file of this content, or without one.
std::string JoiningWithTokenSays(const std::optional<std::string>& token);
// Joins with TLS a coordinator that has none, or one whose certificate is of another authority.
std::string JoiningWithTlsSays(bool coordinator_has_tls);
// Joins without TLS a coordinator that has TLS.
std::string JoiningWithoutTlsSays();
// Joins a second time from the same process.
std::string JoiningTwiceSays();

}  // namespace muster::testing

#endif  // MUSTER_TESTS_CLIENT_ERRORS_JOIN_ERRORS_H_
