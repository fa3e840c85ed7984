#ifndef MUSTER_CLIENT_LAUNCHER_PROCESS_OUTPUT_TAILS_H_
#define MUSTER_CLIENT_LAUNCHER_PROCESS_OUTPUT_TAILS_H_

#include <map>
#include <mutex>
#include <string>

#include "absl/strings/string_view.h"

namespace muster::launcher {

// The end of each rank's output. Thread-safe.
class OutputTails {
 public:
  static constexpr size_t kMaxBytes = 16 << 10;  // of one rank

  void Add(const std::string& owner, absl::string_view chunk);
  // Returns "" if nothing is known of this rank. If earlier output was dropped, returns more than
  // kMaxBytes, and the first line may be incomplete. Cut the text to kMaxBytes of whole lines
  // before you redact secrets in it.
  std::string TailOf(const std::string& owner) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string> tails_;  // each up to 2 * kMaxBytes, to move bytes rarely
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_PROCESS_OUTPUT_TAILS_H_
