#ifndef MUSTER_CLIENT_SRC_WORKSPACE_SAFETENSORS_FORMAT_H_
#define MUSTER_CLIENT_SRC_WORKSPACE_SAFETENSORS_FORMAT_H_

#include <cstddef>

#include "absl/strings/string_view.h"
#include "muster/data_type.h"

// Constants of the safetensors format, shared by writer and reader. A file has eight bytes with the
// header's length, the header (JSON), and the data: docs/workspace.md. This room knows nothing of
// jobs. Callers: muster/workspace.h and client/src/exchange. Tests: tests/client/workspace.
namespace muster::internal {

inline constexpr size_t kLengthBytes = 8;
// The reference implementation's limit.
inline constexpr size_t kMaxHeaderBytes = 100'000'000;
// The header is padded with spaces to a multiple of this, so that the data is aligned.
inline constexpr size_t kAlignment = 8;

inline constexpr char kMetadata[] = "__metadata__";

// Muster's entries in the metadata, which is a map of strings.
inline constexpr char kConfigKey[] = "muster.config";
inline constexpr char kHeaderChecksumKey[] = "muster.header_crc32";
inline constexpr char kTensorChecksumPrefix[] = "muster.crc32.";

// A placeholder: the header's checksum is computed with these digits in its place.
inline constexpr char kNoChecksum[] = "00000000";

// Returns the format's name of a type: "F32", "BF16", "BOOL". Empty for an invalid value.
absl::string_view SafetensorsName(DataType type);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_WORKSPACE_SAFETENSORS_FORMAT_H_
