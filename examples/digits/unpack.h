#ifndef MUSTER_EXAMPLES_DIGITS_UNPACK_H_
#define MUSTER_EXAMPLES_DIGITS_UNPACK_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace digits {

// A temporary directory that is removed, with its contents, at the end of this object.
class ScratchDir {
 public:
  ScratchDir() = default;
  ~ScratchDir();
  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;

  // Makes the directory, below TMPDIR or /tmp, and returns its path.
  absl::StatusOr<std::string> Create();

 private:
  std::string path_;  // empty if not made
};

// Unpacks the gzip file `packed` into the new file `plain`. An error names the file that is at
// fault.
absl::Status Gunzip(const std::string& packed, const std::string& plain);

}  // namespace digits

#endif  // MUSTER_EXAMPLES_DIGITS_UNPACK_H_
