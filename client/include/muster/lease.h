#ifndef MUSTER_LEASE_H_
#define MUSTER_LEASE_H_

#include "muster/cxx17.h"

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster {

namespace internal {
class ControlPlane;
}  // namespace internal

// Whose work a lease is.
enum class LeaseScope {
  kNode,  // once on each node
  kJob,   // once in the job
};

// The answer to Job::AcquireLease(): either the caller holds the lease and must do the work, or
// another process has done it and here is its outcome.
//
// A held lease ends by Complete() or Fail(), or when its holder is lost; never by how long the work
// takes. Destroying a held lease gives it up, with a warning in the log: the next waiter gets the
// lease and does the work again. Release() gives it up on purpose. Destroying the Job gives it up
// too; after that Complete() is CANCELLED. Move-only; not thread-safe.
class Lease {
 public:
  // What was moved from holds nothing.
  Lease(Lease&&) noexcept;
  Lease& operator=(Lease&&) noexcept;
  ~Lease();

  // Whether the caller must do the work.
  bool held() const;

  // The fencing token: grows with every grant of the job. Write it beside what the work produces,
  // and refuse to replace something with a higher token: then a holder that was taken for dead can
  // do no harm.
  uint64_t token() const;

  // The outcome of the work of another process: its bytes, or the error it failed with.
  // FAILED_PRECONDITION if held().
  const absl::StatusOr<std::string>& result() const;

  // Publishes the outcome of the work to everybody who waits or asks later. Does not wait for them.
  // The coordinator keeps tens of thousands of outcomes; of more than that, those that nobody has
  // asked for the longest are forgotten, and whoever asks for one does the work again.
  // FAILED_PRECONDITION if the lease is not held, or is no longer the caller's: then another
  // process has done or is doing the work, and what this one produced under its token must not be
  // used.
  //   RESOURCE_EXHAUSTED  the result is over the coordinator's limit, naming its flag: nothing was
  //                       sent and the lease is still held; Fail() tells the others.
  //   UNAVAILABLE         the coordinator could not be reached for JobOptions::coordinator_timeout.
  //   ABORTED             this process counts as lost. The loss of another member does not end a
  //                       lease: it belongs to the job, and may be completed in any epoch.
  absl::Status Complete(absl::string_view result);
  // `error` must not be OK.
  absl::Status Fail(const absl::Status& error);

  // Complete() or Fail(); a result that is refused for its size becomes the error of the work, so
  // that nobody repeats work that cannot be published.
  absl::Status Publish(const absl::StatusOr<std::string>& outcome);

  // Gives a held lease up without an outcome, so that the next process to ask does the work. Does
  // not block; does nothing if the lease is not held.
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
