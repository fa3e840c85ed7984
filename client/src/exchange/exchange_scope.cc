#include "client/src/exchange/exchange_scope.h"

#include <filesystem>
#include <system_error>

namespace muster::internal {

FolderRemover::~FolderRemover() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

absl::Status ExchangeScope::Release() {
  absl::Status status = group_.Barrier("end of an exchange", CallOptions{timeout_});
  storage_.clear();
  return status;
}

}  // namespace muster::internal
