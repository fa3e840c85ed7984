#include "client/src/workspace/checksum.h"

#include <zlib.h>

#include "absl/strings/str_cat.h"

namespace muster::internal {

std::string Checksum(const void* data, size_t size) {
  // For a null pointer, zlib returns the initial value, which is the checksum of no bytes.
  const uLong crc = crc32_z(0, static_cast<const Bytef*>(data), size);
  return absl::StrCat(absl::Hex(crc, absl::kZeroPad8));
}

}  // namespace muster::internal
