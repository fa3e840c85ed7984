#ifndef MUSTER_EXAMPLES_DIGITS_UNPACK_H_
#define MUSTER_EXAMPLES_DIGITS_UNPACK_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace digits {

// A temporary directory that goes, with all that is in it, when the object does.
class ScratchDir {
 public:
  ScratchDir() = default;
  ~ScratchDir();
  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;

  // Makes the directory, below TMPDIR or /tmp, and returns its path.
  absl::StatusOr<std::string> Create();

 private:
  std::string path_;  // empty: not made
};

// Unpacks the gzip file `packed` into the new file `plain`. An error says what is wrong with which.
absl::Status Gunzip(const std::string& packed, const std::string& plain);

}  // namespace digits

#endif  // MUSTER_EXAMPLES_DIGITS_UNPACK_H_
