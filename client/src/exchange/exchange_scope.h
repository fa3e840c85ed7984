#ifndef MUSTER_CLIENT_SRC_EXCHANGE_EXCHANGE_SCOPE_H_
#define MUSTER_CLIENT_SRC_EXCHANGE_EXCHANGE_SCOPE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "muster/call_options.h"
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
  ExchangeScope(const Group& group, const CallOptions& options)
      : group_(group), options_(options) {}

  // Keeps what the values point to.
  void Hold(std::shared_ptr<const void> storage) { storage_.push_back(std::move(storage)); }

  // Gives the storage back once every rank has come so far. A collective of the group.
  absl::Status Release();

 private:
  const Group group_;
  const CallOptions options_;
  std::vector<std::shared_ptr<const void>> storage_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_EXCHANGE_EXCHANGE_SCOPE_H_
