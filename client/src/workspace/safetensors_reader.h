#ifndef MUSTER_CLIENT_SRC_WORKSPACE_SAFETENSORS_READER_H_
#define MUSTER_CLIENT_SRC_WORKSPACE_SAFETENSORS_READER_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "muster/workspace.h"

namespace muster::internal {

// The configuration that `bytes` hold, without its `storage`: its tensors point into `bytes`.
// Trusts nothing. DATA_LOSS says what is wrong with the bytes: too few, a malformed header, tensors
// that overlap or leave gaps or do not fit their shape, a checksum that is missing or does not fit.
absl::StatusOr<Configuration> ReadSafetensors(absl::string_view bytes);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_WORKSPACE_SAFETENSORS_READER_H_
