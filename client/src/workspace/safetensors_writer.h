#ifndef MUSTER_CLIENT_SRC_WORKSPACE_SAFETENSORS_WRITER_H_
#define MUSTER_CLIENT_SRC_WORKSPACE_SAFETENSORS_WRITER_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "muster/workspace.h"

namespace muster::internal {

// The content of a safetensors file, before it is written.
struct SafetensorsImage {
  std::string header;                      // starts with its length
  std::vector<absl::string_view> tensors;  // in the file's order; memory of the configuration

  size_t size() const;
};

// Builds the image. Reads all data for the checksums. The configuration's tensors must outlive the
// image. Errors: as Workspace::Write().
absl::StatusOr<SafetensorsImage> MakeSafetensors(const Configuration& configuration);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_WORKSPACE_SAFETENSORS_WRITER_H_
