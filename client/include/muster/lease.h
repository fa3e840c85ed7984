#ifndef MUSTER_LEASE_H_
#define MUSTER_LEASE_H_

#include "muster/cxx17.h"

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

// Work that one process does for its node or for the job, as an object. Job::RunOncePerNode() and
// RunOncePerJob() are shorter where the work is one function.
//
//   absl::StatusOr<muster::Lease> lease = job.AcquireLease("extract", muster::LeaseScope::kNode);
//   if (!lease.ok()) return lease.status();
//   if (!lease->held()) return Use(lease->result());  // another process has done the work
//   return lease->Publish(Extract(lease->token()));
namespace muster {

namespace internal {
class ControlPlane;
}  // namespace internal

// How often the work of a lease is done.
enum class LeaseScope {
  kNode,  // once on each node
  kJob,   // once in the job
};

// The answer to Job::AcquireLease(). Either the caller holds the lease and must do the work, or
// another process has done the work and this object has its outcome.
//
// A held lease ends with Complete(), Fail() or Release(), or when its holder is lost. It never
// expires, however long the work takes. Destroying a held lease releases it and logs a warning; the
// next process that waits gets the lease and does the work again. Destroying the Job releases the
// lease too; Complete() then returns CANCELLED. Move-only. Not thread-safe.
class Lease {
 public:
  // A moved-from lease holds nothing.
  Lease(Lease&&) noexcept;
  Lease& operator=(Lease&&) noexcept;
  ~Lease();

  // Returns whether the caller holds the lease and must do the work.
  bool held() const;

  // Returns the fencing token, which grows with every grant in the job. Write it beside the output
  // of the work, and never replace output that has a higher token. Then a holder that was taken for
  // dead, and goes on working, does no harm.
  uint64_t token() const;

  // Returns the outcome of the work of another process: its bytes, or the error it failed with.
  // FAILED_PRECONDITION if held().
  const absl::StatusOr<std::string>& result() const;

  // Ends the lease and publishes the outcome of the work to every process that waits for it or asks
  // later. Returns when the coordinator has the outcome; does not wait for the other processes. The
  // coordinator keeps tens of thousands of outcomes. Beyond that it forgets the outcome that was
  // asked for the longest ago, and the next process that asks does the work again.
  //   FAILED_PRECONDITION  the caller does not hold the lease, or no longer: another process has
  //                        done the work or is doing it. Discard what this process has produced.
  //   RESOURCE_EXHAUSTED   the result is over the coordinator's limit; the error names its flag.
  //                        Nothing was sent, and the lease is still held: call Fail() to tell the
  //                        other processes.
  //   UNAVAILABLE          the coordinator could not be reached for
  //                        JobOptions::coordinator_timeout.
  //   ABORTED              this process counts as lost. The loss of another member does not end a
  //                        lease: it belongs to the job, and can be completed in any epoch.
  absl::Status Complete(absl::string_view result);
  // As Complete(), with an error in place of a result. `error` must not be OK.
  absl::Status Fail(const absl::Status& error);

  // Calls Complete() or Fail(). If the result is over the coordinator's limit, publishes that error
  // in its place, so that no other process repeats work that cannot be published.
  absl::Status Publish(const absl::StatusOr<std::string>& outcome);

  // Releases a held lease without an outcome: the next process that asks does the work. Does
  // nothing if the lease is not held. Does not block.
  void Release();

  // Not for programs.
  struct State;
  explicit Lease(std::unique_ptr<State> state);

 private:
  absl::Status Send(const absl::StatusOr<std::string>& outcome);

  std::unique_ptr<State> state_;
};

}  // namespace muster

#endif  // MUSTER_LEASE_H_
