#ifndef MUSTER_CLIENT_SRC_CONTROL_PLANE_CONTROL_PLANE_H_
#define MUSTER_CLIENT_SRC_CONTROL_PLANE_CONTROL_PLANE_H_

#include <unistd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/src/protocol/collective_call.h"
#include "muster/call_options.h"
#include "muster/group.h"
#include "muster/lease.h"

namespace muster::internal {

// What AcquireLease ended with.
struct LeaseOutcome {
  bool held = false;
  uint64_t token = 0;
  absl::StatusOr<std::string> result;  // where not held
};

// The job in one of its epochs, as its public classes see it; they check arguments, this talks to
// the coordinator (or, in serial mode, to nobody). Everything that was made in the epoch shares it.
// Thread-safe. Errors are those that group.h and job.h document.
class ControlPlane {
 public:
  virtual ~ControlPlane() = default;

  // OK in the process that joined; FAILED_PRECONDITION in a fork of it, where no call works.
  absl::Status CheckProcess() const;

  virtual const std::string& job_id() const = 0;
  virtual bool is_distributed() const = 0;
  virtual const std::vector<Member>& members() const = 0;
  virtual int rank() const = 0;
  // Grows from each epoch to the next.
  virtual uint64_t epoch() const = 0;
  virtual absl::Duration default_timeout() const = 0;
  virtual std::string local_address() const = 0;
  // 0: no limit.
  virtual size_t max_payload_bytes() const = 0;
  virtual size_t max_name_bytes() const = 0;

  // Runs one collective of the group with this name and these world ranks (both empty: the world).
  // `options.timeout` of this and the other calls is always set.
  // Returns one payload for kBroadcast, one per rank for kAllGather and for the root of kGather,
  // else none.
  virtual absl::StatusOr<std::vector<std::string>> RunCollective(const std::string& group,
                                                                 const std::vector<int>& ranks,
                                                                 CollectiveCall call,
                                                                 const CallOptions& options) = 0;

  // The program has one more handle of a group that is not the world, or one less: a group without
  // any is forgotten when all its ranks have let it go. Neither blocks.
  virtual void HoldGroup(const std::string& /*group*/, const std::vector<int>& /*ranks*/) {}
  virtual void DropGroup(const std::string& /*group*/, const std::vector<int>& /*ranks*/) {}

  virtual absl::StatusOr<LeaseOutcome> AcquireLease(const std::string& name, LeaseScope scope,
                                                    const CallOptions& options) = 0;
  virtual absl::Status CompleteLease(const std::string& name, LeaseScope scope, uint64_t token,
                                     const absl::StatusOr<std::string>& outcome) = 0;
  // Gives a held lease up. Does not block.
  virtual void ReleaseLease(const std::string& name, LeaseScope scope, uint64_t token) = 0;

  virtual absl::Status Leave(const CallOptions& options) = 0;

  // The job in its next epoch; null where this one goes on, in serial mode. This object stays what
  // it is: of an epoch that has ended.
  virtual absl::StatusOr<std::unique_ptr<ControlPlane>> Rejoin(const CallOptions& options) = 0;
  virtual int newcomers_waiting() const = 0;
  virtual Subscription OnNewcomers(std::function<void()> callback) = 0;

  virtual absl::Status RequestStop(const CallOptions& options) = 0;
  virtual bool stop_requested() const = 0;

  virtual absl::Status health() const = 0;
  virtual absl::Status AwaitFailure(absl::Duration timeout) const = 0;
  virtual absl::Status AwaitLoss(const CallOptions& options) const = 0;
  virtual Subscription OnFailure(std::function<void(const absl::Status&)> callback) = 0;

  // The Job is destroyed: ends every call, and later ones too, with CANCELLED, and health(). What
  // was made of the job may keep this object for longer.
  virtual void Close() {}

 private:
  const pid_t process_ = getpid();
};

// What Lease::result() says while the lease is held.
absl::Status HeldResult(const std::string& lease);

// What the public classes check before a call goes to the control plane.

// The options with their time-out filled in. INVALID_ARGUMENT: a time-out that is infinite or
// negative. FAILED_PRECONDITION: this process is a fork. CANCELLED: already cancelled.
absl::StatusOr<CallOptions> CheckCall(const ControlPlane& control, const CallOptions& options);

// RESOURCE_EXHAUSTED if `bytes` are over the daemon's limit, naming `what`, the limit and the flag.
absl::Status CheckPayload(const ControlPlane& control, absl::string_view what, size_t bytes);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_CONTROL_PLANE_H_
