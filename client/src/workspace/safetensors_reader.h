#ifndef MUSTER_CLIENT_SRC_WORKSPACE_SAFETENSORS_READER_H_
#define MUSTER_CLIENT_SRC_WORKSPACE_SAFETENSORS_READER_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "muster/workspace.h"

namespace muster::internal {

// Parses a file's bytes. The result's tensors point into `bytes`; its `storage` is not set. Trusts
// nothing: returns DATA_LOSS, with the reason, if bytes are missing, the header is malformed,
// tensors overlap, leave gaps or do not match their shape, or a checksum is missing or wrong.
absl::StatusOr<Configuration> ReadSafetensors(absl::string_view bytes);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_WORKSPACE_SAFETENSORS_READER_H_
