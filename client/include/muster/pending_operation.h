#ifndef MUSTER_PENDING_OPERATION_H_
#define MUSTER_PENDING_OPERATION_H_

#include "muster/cxx17.h"

#include <memory>

#include "absl/status/status.h"

namespace muster {

namespace internal {
struct StartedCall;
}  // namespace internal

// What Communicator::Start() has begun. The buffers of its operations are in use until it has
// ended.
class PendingOperation {
 public:
  // Nothing; it has ended well.
  PendingOperation() = default;
  // Waits for it.
  ~PendingOperation();
  // What was moved from has ended well.
  PendingOperation(PendingOperation&&) noexcept = default;
  // Waits for what was here before.
  PendingOperation& operator=(PendingOperation&& other) noexcept;

  // Blocks until it has ended and returns its status, again and again. Has no time-out of its own:
  // those of the operations end it. FAILED_PRECONDITION at once in a fork, where it never ends.
  // From any thread.
  absl::Status Wait() const;

  // Whether it has ended. Does not block.
  bool done() const;

  // Not for programs.
  explicit PendingOperation(std::shared_ptr<internal::StartedCall> call);

 private:
  std::shared_ptr<internal::StartedCall> call_;
};

}  // namespace muster

#endif  // MUSTER_PENDING_OPERATION_H_
