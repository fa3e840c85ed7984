#ifndef MUSTER_TESTS_CLIENT_ERRORS_CALL_ERRORS_H_
#define MUSTER_TESTS_CLIENT_ERRORS_CALL_ERRORS_H_

#include <functional>
#include <string>

#include "muster/communicator.h"
#include "muster/job.h"

// Errors of the calls of a job: collectives, groups, leases and communicators. Each function makes
// one mistake and returns the text that the program gets.
namespace muster::testing {

// Both ranks of a job make their call at the same time. Returns the error of rank 0. The
// coordinator accepts payloads of at most 1000 bytes.
std::string PairSays(const std::function<absl::Status(Job&)>& rank_0,
                     const std::function<absl::Status(Job&)>& rank_1);

// Rank 0 of two makes its call, and rank 1 makes none.
std::string RankSays(const std::function<absl::Status(Job&)>& rank_0);

// Rank 1 of two ends without Leave(), while rank 0 waits in a barrier.
std::string ALossSays();

// Rank 0 makes a second call while its first call waits.
std::string ASecondThreadSays();

// Rank 1 asks for a lease that rank 0 holds.
std::string AHeldLeaseSays();
// Rank 1 completes a lease of which rank 0 has done the work.
std::string ALeaseOfAnotherSays();

// The only rank of a job without a coordinator makes this call.
std::string AloneSays(const std::function<absl::Status(Job&)>& call);
std::string CommunicatorSays(const std::function<absl::Status(Communicator&)>& call);

}  // namespace muster::testing

#endif  // MUSTER_TESTS_CLIENT_ERRORS_CALL_ERRORS_H_
