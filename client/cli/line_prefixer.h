#ifndef MUSTER_CLIENT_CLI_LINE_PREFIXER_H_
#define MUSTER_CLIENT_CLI_LINE_PREFIXER_H_

#include <string>

#include "absl/strings/string_view.h"

namespace muster::cli {

// Cuts one process's output into whole lines with a prefix each, so that the lines of several can
// be mixed. A line ends with '\n'; all other bytes, zeros included, are passed on as they are.
class LinePrefixer {
 public:
  // A longer line is passed on in pieces of this size, each as a line: something must bound what is
  // kept for an end that may never come.
  static constexpr size_t kMaxLineBytes = 1 << 20;

  // An empty prefix changes nothing but the cutting.
  explicit LinePrefixer(std::string prefix) : prefix_(std::move(prefix)) {}

  // The lines that `chunk` completes.
  std::string Feed(absl::string_view chunk);
  // The line that was begun, ended; empty if there is none.
  std::string Finish();

 private:
  void AppendPartial(absl::string_view piece, std::string* lines);

  std::string prefix_;
  std::string partial_;  // begun and not ended
};

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_LINE_PREFIXER_H_
