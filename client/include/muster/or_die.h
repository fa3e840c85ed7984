#ifndef MUSTER_OR_DIE_H_
#define MUSTER_OR_DIE_H_

#include "muster/cxx17.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "muster/call_options.h"

// Ends the process on any error, for programs that handle errors in no other way, such as programs
// ported from MPI:
//
//   auto job = muster::OrDie(muster::Job::Join(muster::JobOptions::FromEnvironment()));
//   muster::OrDie(job->Barrier("loaded"));
//   const int total = muster::OrDie(job->AllReduce(1));
//   muster::OrDie(job->Leave());
//
// On an error the process writes "rank 1 (train.cc:42): job 'train': ..." to standard error, and
// exits with ExitCode(error); see docs/exit-codes.md.
namespace muster {

// Returns if `status` is OK. Otherwise writes the rank, the line of the call and the error to
// standard error, writes the termination reason (muster/exit_code.h), flushes the streams of C and
// C++, and ends the process with ExitCode(status). Runs no destructor and no atexit() function, so
// that no other thread can delay the end. The other members see this process as lost.
void OrDie(const absl::Status& status, CallSite site = CallSite::Here());

// Returns the value, or ends the process as above.
template <class T>
T OrDie(absl::StatusOr<T> value, CallSite site = CallSite::Here()) {
  OrDie(value.status(), site);
  return *std::move(value);
}

}  // namespace muster

#endif  // MUSTER_OR_DIE_H_
