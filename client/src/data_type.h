#ifndef MUSTER_CLIENT_SRC_DATA_TYPE_H_
#define MUSTER_CLIENT_SRC_DATA_TYPE_H_

#include <cstddef>

#include "absl/strings/string_view.h"
#include "muster/communicator.h"

namespace muster::internal {

// Bytes of one element; 0 for a value that is none of the enumerators.
size_t SizeOf(DataType type);

// "float32"; empty for a value that is none of the enumerators.
absl::string_view NameOf(DataType type);

// "sum"; empty for a value that is none of the enumerators.
absl::string_view NameOf(ReduceOp op);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_DATA_TYPE_H_
