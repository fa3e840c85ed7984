#ifndef MUSTER_CLIENT_SRC_WORKSPACE_SAFETENSORS_WRITER_H_
#define MUSTER_CLIENT_SRC_WORKSPACE_SAFETENSORS_WRITER_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "muster/workspace.h"

namespace muster::internal {

// A file in the safetensors format that has not been written yet.
struct SafetensorsImage {
  std::string header;                      // with its length before it
  std::vector<absl::string_view> tensors;  // in the file's order; memory of the configuration

  size_t size() const;
};

// Errors as Workspace::Write(). Reads all the data, for the checksums; the configuration's tensors
// must outlive the image.
absl::StatusOr<SafetensorsImage> MakeSafetensors(const Configuration& configuration);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_WORKSPACE_SAFETENSORS_WRITER_H_
