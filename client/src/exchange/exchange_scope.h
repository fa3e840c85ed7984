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

// A folder that is removed, with all that is in it, at the end; empty: none.
class FolderRemover {
 public:
  explicit FolderRemover(std::string folder) : folder_(std::move(folder)) {}
  ~FolderRemover();
  FolderRemover(const FolderRemover&) = delete;
  FolderRemover& operator=(const FolderRemover&) = delete;

 private:
  const std::string folder_;
};

// What holds an exchange's values until all ranks have ended their scope.
class ExchangeScope {
 public:
  // `timeout` is that of the barrier at the end; unset: the job's. The rest of a call's options
  // does not come along: a cancellation may be gone by then.
  ExchangeScope(const Group& group, std::optional<absl::Duration> timeout)
      : group_(group), timeout_(timeout) {}

  // Keeps what the values point to.
  void Hold(std::shared_ptr<const void> storage) { storage_.push_back(std::move(storage)); }

  // Gives the storage back once every rank has come so far. A collective of the group.
  absl::Status Release();

 private:
  const Group group_;
  const std::optional<absl::Duration> timeout_;
  std::vector<std::shared_ptr<const void>> storage_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_EXCHANGE_EXCHANGE_SCOPE_H_
