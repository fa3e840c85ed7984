#ifndef MUSTER_CLIENT_LAUNCHER_TORCH_KEY_STORE_H_
#define MUSTER_CLIENT_LAUNCHER_TORCH_KEY_STORE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "muster/v1/store.pb.h"

namespace muster::launcher::torch {

// A store whose operations do not block. Implementations: LocalKeyStore, for a job of one node, and
// JobKeyStore of client/launcher, the job's store in musterd. Call it from one thread.
class KeyStore {
 public:
  // The end of an operation.
  struct Ended {
    uint64_t id;
    absl::StatusOr<v1::StoreAnswer> answer;
  };

  virtual ~KeyStore() = default;

  // Begins an operation, which ends once. It waits for `wait_timeout`, or for ever if that is
  // absent. If that is 0 and the operation would have to wait, its answer is DEADLINE_EXCEEDED. Ids
  // are not reused.
  virtual void Begin(uint64_t id, v1::StoreOperation operation) = 0;
  // Gives an operation up. It ends with CANCELLED, unless it has ended or changed something.
  virtual void Cancel(uint64_t id) = 0;
  // Returns the operations that have ended since the last call, in this order.
  virtual std::vector<Ended> TakeEnded() = 0;
  // Returns a descriptor that is readable while operations end outside of Begin() and Cancel(), or
  // -1 if none does.
  virtual int fd() const = 0;
};

}  // namespace muster::launcher::torch

#endif  // MUSTER_CLIENT_LAUNCHER_TORCH_KEY_STORE_H_
