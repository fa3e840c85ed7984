#ifndef MUSTER_PENDING_OPERATION_H_
#define MUSTER_PENDING_OPERATION_H_

#include "muster/cxx17.h"

#include <memory>

#include "absl/status/status.h"

// Operations of a Communicator that run while the program computes:
//
//   muster::PendingOperation reducing =
//       communicator.Start([&](muster::Communicator& c) { return c.AllReduce(gradients); });
//   PrepareNextBatch();
//   return reducing.Wait();
namespace muster {

namespace internal {
struct StartedCall;
}  // namespace internal

// The operations that Communicator::Start() has started. Their buffers are in use until they have
// ended.
class PendingOperation {
 public:
  // An operation that has ended with OK.
  PendingOperation() = default;
  // Blocks until the operations have ended.
  ~PendingOperation();
  // A moved-from object has ended with OK.
  PendingOperation(PendingOperation&&) noexcept = default;
  // Blocks until the operations that this object had before have ended.
  PendingOperation& operator=(PendingOperation&& other) noexcept;

  // Blocks until the operations have ended, and returns their status. May be called any number of
  // times. Has no time-out of its own: the time-outs of the operations end it. Returns
  // FAILED_PRECONDITION at once in a fork of the process, where the operations never end.
  // Thread-safe.
  absl::Status Wait() const;

  // Returns whether the operations have ended. Does not block.
  bool done() const;

  // Not for programs.
  explicit PendingOperation(std::shared_ptr<internal::StartedCall> call);

 private:
  std::shared_ptr<internal::StartedCall> call_;
};

}  // namespace muster

#endif  // MUSTER_PENDING_OPERATION_H_
