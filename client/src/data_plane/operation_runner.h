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
class PublishedActivity;
}  // namespace muster

namespace muster::internal {

class StartedCalls;

// Runs the operations of one communicator on its backend: one at a time, in the process that
// created it, after all that was started, and none after the error that ended it. The arguments
// have been checked. Thread-safe.
class OperationRunner {
 public:
  // What an operation does on the backend. The options that it gets have a time-out.
  using Call = absl::FunctionRef<absl::Status(Backend&, const CallOptions&)>;

  // What a collective comes to where this process does not wait for the others.
  struct OwnValue {
    const void* from = nullptr;
    void* to = nullptr;
    size_t bytes = 0;
  };

  // `options.timeout` is set. Ends with the error of the group's job, if the job fails.
  OperationRunner(const Group& group, const CommunicatorOptions& options,
                  std::unique_ptr<Backend> backend);
  // In a fork nothing is done, and what it holds is left alone.
  ~OperationRunner();
  OperationRunner(const OperationRunner&) = delete;
  OperationRunner& operator=(const OperationRunner&) = delete;

  const Group& group() const { return group_; }
  absl::Duration default_timeout() const { return *options_.timeout; }
  // OK, or UNIMPLEMENTED where the backend cannot move this type, or reduce it where `op` is set.
  absl::Status CheckSupport(DataType type, std::optional<ReduceOp> op) const {
    return backend_->CheckSupport(type, op);
  }

  // Blocks until all that was started has ended; nothing is started afterwards. Returns at once in
  // a fork.
  void Finish();

  // Runs a collective, or, inside a PreventBlock scope, what it comes to there. `bytes` is told to
  // those who look for what hangs.
  absl::Status RunCollective(absl::string_view operation, size_t bytes, const OwnValue& own,
                             const CallOptions& options, Call call);
  // Runs one operation. Errors are those of communicator.h.
  absl::Status Run(absl::string_view operation, const CallOptions& options, Call call);
  // Copies between memory that the backend can reach, both ends of this process. Does not wait for
  // its turn: it is for data of an operation that has ended.
  absl::Status Copy(const void* from, void* to, size_t bytes, const CallOptions& options);
  // Begins `calls`, which makes operations, on a thread of the communicator's own; see
  // Communicator::Start().
  PendingOperation Start(std::function<absl::Status()> calls, void* stream);

  // Ends the call in progress and all later ones with `why`. From any thread.
  void Fail(const absl::Status& why);

 private:
  absl::Status CheckProcess(absl::string_view operation) const;
  void AwaitStarted(absl::string_view operation, CallOptions* options);
  absl::Status Enter(absl::string_view operation);
  absl::Status Leave(absl::Status result);
  // "AllReduce on rank 0 of 4".
  std::string Describe(absl::string_view operation) const;

  Group group_;
  const CommunicatorOptions options_;
  std::unique_ptr<Backend> backend_;
  const int64_t process_;
  std::unique_ptr<StartedCalls> started_;
  std::unique_ptr<PublishedActivity> activity_;
  absl::Mutex mutex_;
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status end_ ABSL_GUARDED_BY(mutex_);  // the first error that finished the communicator
  Subscription failure_;                      // last: its callback uses the others
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_DATA_PLANE_OPERATION_RUNNER_H_
