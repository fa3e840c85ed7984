#ifndef MUSTER_CLIENT_LAUNCHER_OUTPUT_TAILS_H_
#define MUSTER_CLIENT_LAUNCHER_OUTPUT_TAILS_H_

#include <map>
#include <mutex>
#include <string>

#include "absl/strings/string_view.h"

namespace muster::launcher {

// The last of what each rank has written. Thread-safe.
class OutputTails {
 public:
  static constexpr size_t kMaxBytes = 16 << 10;  // of one rank

  void Add(const std::string& owner, absl::string_view chunk);
  // Empty where nothing is known. More than kMaxBytes where something before it is left out: the
  // first line may then be the end of one, and of a secret.
  std::string Of(const std::string& owner) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string> tails_;  // each up to twice the bytes, so that few are moved
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_OUTPUT_TAILS_H_
