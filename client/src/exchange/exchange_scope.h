#ifndef MUSTER_CLIENT_SRC_EXCHANGE_EXCHANGE_SCOPE_H_
#define MUSTER_CLIENT_SRC_EXCHANGE_EXCHANGE_SCOPE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "muster/group.h"

namespace muster::internal {

// A guard that removes a folder with everything in it. Does nothing for an empty path.
class FolderRemover {
 public:
  explicit FolderRemover(std::string folder) : folder_(std::move(folder)) {}
  ~FolderRemover();
  FolderRemover(const FolderRemover&) = delete;
  FolderRemover& operator=(const FolderRemover&) = delete;

 private:
  const std::string folder_;
};

// The owner of an exchange's values, until all ranks have ended their scope.
class ExchangeScope {
 public:
  // `timeout` limits the barrier at the end; if unset, the job's default does. The call's other
  // options are not kept, because its Cancellation may be gone by then.
  ExchangeScope(const Group& group, std::optional<absl::Duration> timeout)
      : group_(group), timeout_(timeout) {}

  // Keeps the memory of values alive.
  void Hold(std::shared_ptr<const void> storage) { storage_.push_back(std::move(storage)); }

  // Blocks until every rank has called it, and then frees the memory. A collective of the group.
  absl::Status Release();

 private:
  const Group group_;
  const std::optional<absl::Duration> timeout_;
  std::vector<std::shared_ptr<const void>> storage_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_EXCHANGE_EXCHANGE_SCOPE_H_
