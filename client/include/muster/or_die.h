#ifndef MUSTER_OR_DIE_H_
#define MUSTER_OR_DIE_H_

#include "muster/cxx17.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "muster/call_options.h"

// For programs whose only answer to an error is to end, such as those ported from MPI:
//
//   auto job = muster::OrDie(muster::Job::Join(muster::JobOptions::FromEnvironment()));
//   muster::OrDie(job->Barrier("loaded"));
//   const int total = muster::OrDie(job->AllReduce(1));
//   muster::OrDie(job->Leave());
//
// An error ends the process like this:
//
//   rank 1 (train.cc:42): job 'train': ...        the error, on standard error
//   exit status                                   ExitCode(error): docs/exit-codes.md
namespace muster {

// Returns if `status` is OK. Otherwise writes the rank, the line of the call and the error to
// standard error, writes the termination reason (muster/exit_code.h), flushes the streams of C and
// C++, and ends the process with ExitCode(status). No destructor and no atexit() function runs, so
// no other thread can hold the end up; the other members see this one as lost.
void OrDie(const absl::Status& status, CallSite site = CallSite::Here());

// The same; returns the value if there is one.
template <class T>
T OrDie(absl::StatusOr<T> value, CallSite site = CallSite::Here()) {
  OrDie(value.status(), site);
  return *std::move(value);
}

}  // namespace muster

#endif  // MUSTER_OR_DIE_H_
