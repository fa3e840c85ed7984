#include "client/src/workspace/checksum.h"

#include <zlib.h>

#include "absl/strings/str_cat.h"

namespace muster::internal {

std::string Checksum(const void* data, size_t size) {
  // zlib takes a null pointer as a request for the initial value, which that of no bytes is too.
  const uLong crc = crc32_z(0, static_cast<const Bytef*>(data), size);
  return absl::StrCat(absl::Hex(crc, absl::kZeroPad8));
}

}  // namespace muster::internal
