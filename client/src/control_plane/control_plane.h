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
#include "client/src/protocol/messages/collective_call.h"
#include "muster/call_options.h"
#include "muster/group.h"
#include "muster/lease.h"

namespace muster::internal {

class StorePlane;

// The result of AcquireLease().
struct LeaseOutcome {
  bool held = false;
  uint64_t token = 0;
  absl::StatusOr<std::string> result;  // the outcome of completed work, if not held
};

// The job in one of its epochs, as the public classes see it:
//
//   auto control = Connect(options, cancellation);       // joins, and returns the first epoch
//   auto admitted = CheckCall(**control, call_options);  // fills in the time-out
//   auto payloads = (*control)->RunCollective("", {}, call, *admitted);
//
// The public classes (client/src/job) check arguments. A control plane talks to the coordinator
// (RemoteControlPlane), or plays its part in serial mode (SerialControlPlane). Everything made in
// an epoch shares one ControlPlane. Thread-safe. Errors are those of group.h and job.h. Headers of
// this room show no gRPC, except grpc_*.h. Tests: tests/client/remote_*_test.cc,
// serial_job_test.cc.
class ControlPlane {
 public:
  virtual ~ControlPlane() = default;

  // Returns OK in the process that joined, or FAILED_PRECONDITION in a fork of it, where no call
  // works.
  absl::Status CheckProcess() const;

  virtual const std::string& job_id() const = 0;
  virtual bool is_distributed() const = 0;
  virtual const std::vector<Member>& members() const = 0;
  virtual int rank() const = 0;
  // Returns the epoch's number, which grows from each epoch to the next.
  virtual uint64_t epoch() const = 0;
  virtual absl::Duration default_timeout() const = 0;
  virtual std::string local_address() const = 0;
  // 0 if there is no limit.
  virtual size_t max_payload_bytes() const = 0;
  virtual size_t max_name_bytes() const = 0;

  // Runs one collective of the group with this name and these world ranks. Both are empty for the
  // world. Blocks until it has ended. Callers of this and the other calls always set
  // `options.timeout`. Returns one payload for kBroadcast, one per rank for kAllGather and for the
  // root of kGather, and no payload otherwise.
  virtual absl::StatusOr<std::vector<std::string>> RunCollective(const std::string& group,
                                                                 const std::vector<int>& ranks,
                                                                 CollectiveCall call,
                                                                 const CallOptions& options) = 0;

  // Adds or drops a handle of a group, which is not the world. A group without handles is forgotten
  // when all its ranks have dropped theirs. Neither blocks.
  virtual void HoldGroup(const std::string& /*group*/, const std::vector<int>& /*ranks*/) {}
  virtual void DropGroup(const std::string& /*group*/, const std::vector<int>& /*ranks*/) {}

  virtual absl::StatusOr<LeaseOutcome> AcquireLease(const std::string& name, LeaseScope scope,
                                                    const CallOptions& options) = 0;
  virtual absl::Status CompleteLease(const std::string& name, LeaseScope scope, uint64_t token,
                                     const absl::StatusOr<std::string>& outcome) = 0;
  // Gives up a held lease. Does not block.
  virtual void ReleaseLease(const std::string& name, LeaseScope scope, uint64_t token) = 0;

  virtual absl::Status Leave(const CallOptions& options) = 0;

  // Joins the next epoch, and returns it. Returns null in serial mode, where this epoch goes on.
  // This object keeps standing for its own epoch, which has ended.
  virtual absl::StatusOr<std::unique_ptr<ControlPlane>> Rejoin(const CallOptions& options) = 0;
  virtual int newcomers_waiting() const = 0;
  virtual Subscription OnNewcomers(std::function<void()> callback) = 0;

  virtual absl::Status RequestStop(const CallOptions& options) = 0;
  virtual bool stop_requested() const = 0;

  virtual absl::Status health() const = 0;
  virtual absl::Status AwaitFailure(absl::Duration timeout) const = 0;
  virtual absl::Status AwaitLoss(const CallOptions& options) const = 0;
  virtual Subscription OnFailure(std::function<void(const absl::Status&)> callback) = 0;

  // Returns the job's store, which is the same in all epochs. FAILED_PRECONDITION: this process has
  // left. CANCELLED: the Job was destroyed. RESOURCE_EXHAUSTED: the process cannot get threads.
  virtual absl::StatusOr<std::shared_ptr<StorePlane>> store() {
    return absl::UnimplementedError("no store");
  }

  // Ends every call, now and later, with CANCELLED, and health() too: the Job is destroyed. Groups
  // and other objects may keep this object for longer.
  virtual void Close() {}

 private:
  const pid_t process_ = getpid();
};

// Returns the error of Lease::result() while the lease is held.
absl::Status HeldResult(const std::string& lease);

// ---- Checks of the public classes before a call ----

// Returns the options with their time-out filled in. Returns INVALID_ARGUMENT for an infinite or
// negative time-out, FAILED_PRECONDITION in a fork of the process that joined, or CANCELLED if the
// call is cancelled already.
absl::StatusOr<CallOptions> CheckCall(const ControlPlane& control, const CallOptions& options);

// Returns RESOURCE_EXHAUSTED, naming `what`, the limit and the flag, if `bytes` exceeds the
// daemon's limit.
absl::Status CheckPayload(const ControlPlane& control, absl::string_view what, size_t bytes);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_CONTROL_PLANE_H_
