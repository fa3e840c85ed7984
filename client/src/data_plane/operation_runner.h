#ifndef MUSTER_CLIENT_SRC_DATA_PLANE_OPERATION_RUNNER_H_
#define MUSTER_CLIENT_SRC_DATA_PLANE_OPERATION_RUNNER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/src/data_plane/backend.h"
#include "muster/communicator.h"
#include "muster/group.h"
#include "muster/pending_operation.h"

namespace muster {
class ActivityPublisher;
}  // namespace muster

namespace muster::internal {

class StartedCalls;

// The operations of one communicator on its backend, run one at a time: only in the process that
// created the communicator, only after all started calls have ended, and never after the error that
// ended the communicator. Callers have checked the arguments. Thread-safe.
class OperationRunner {
 public:
  // An operation on the backend. The options that it gets have a time-out.
  using BackendCall = absl::FunctionRef<absl::Status(Backend&, const CallOptions&)>;

  // The part of a collective's result that is this process's own value, for a PreventBlock scope.
  struct OwnValue {
    const void* from = nullptr;
    void* to = nullptr;
    size_t bytes = 0;
  };

  // `options.timeout` must be set. If the group's job fails, the communicator ends with the job's
  // error.
  OperationRunner(const Group& group, const CommunicatorOptions& options,
                  std::unique_ptr<Backend> backend);
  // In a fork, leaks what it owns and does nothing else.
  ~OperationRunner();
  OperationRunner(const OperationRunner&) = delete;
  OperationRunner& operator=(const OperationRunner&) = delete;

  const Group& group() const { return group_; }
  absl::Duration default_timeout() const { return *options_.timeout; }
  // Returns UNIMPLEMENTED if the backend cannot move this type, or cannot reduce it if `op` is set.
  absl::Status CheckSupport(DataType type, std::optional<ReduceOp> op) const {
    return backend_->CheckSupport(type, op);
  }

  // Blocks until all started calls have ended. Nothing can be started afterwards. Returns at once
  // in a fork.
  void Finish();

  // Runs a collective. Inside a PreventBlock scope, only copies `own`. Publishes the operation and
  // `bytes` for reports about hangs.
  absl::Status RunCollective(absl::string_view operation, size_t bytes, const OwnValue& own,
                             const CallOptions& options, BackendCall call);
  // Runs one operation. Errors are those of communicator.h.
  absl::Status Run(absl::string_view operation, const CallOptions& options, BackendCall call);
  // Copies between two places of this process's memory that the backend can reach. Does not wait
  // for its turn, because it copies data of operations that have ended.
  absl::Status Copy(const void* from, void* to, size_t bytes, const CallOptions& options);
  // Runs `calls`, which makes operations, on the communicator's own thread: see
  // Communicator::Start().
  PendingOperation Start(std::function<absl::Status()> calls, void* stream);

  // Ends the call in progress and all later ones with `why`. Any thread may call this.
  void Fail(const absl::Status& why);

 private:
  absl::Status CheckProcess(absl::string_view operation) const;
  void AwaitStarted(absl::string_view operation, CallOptions* options);
  absl::Status Enter(absl::string_view operation);
  absl::Status Leave(absl::Status result);
  // Returns "AllReduce on rank 0 of 4".
  std::string Describe(absl::string_view operation) const;

  Group group_;
  const CommunicatorOptions options_;
  std::unique_ptr<Backend> backend_;
  const int64_t process_;
  std::unique_ptr<StartedCalls> started_;
  std::unique_ptr<ActivityPublisher> activity_;
  absl::Mutex mutex_;
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status end_ ABSL_GUARDED_BY(mutex_);  // the first error, which ended the communicator
  Subscription failure_;                      // last, because its callback uses the other fields
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_DATA_PLANE_OPERATION_RUNNER_H_
