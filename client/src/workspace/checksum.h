#ifndef MUSTER_CLIENT_SRC_WORKSPACE_CHECKSUM_H_
#define MUSTER_CLIENT_SRC_WORKSPACE_CHECKSUM_H_

#include <cstddef>
#include <string>

namespace muster::internal {

// Returns the CRC-32 of zip and PNG, as eight hexadecimal digits.
std::string Checksum(const void* data, size_t size);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_WORKSPACE_CHECKSUM_H_
