#ifndef MUSTER_CLIENT_SRC_DATA_PLANE_SERIAL_BACKEND_H_
#define MUSTER_CLIENT_SRC_DATA_PLANE_SERIAL_BACKEND_H_

#include <memory>

#include "client/src/data_plane/backend.h"

namespace muster::internal {

// Returns the data plane of a group of one: each collective copies the input to the output.
std::unique_ptr<Backend> MakeSerialBackend();

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_DATA_PLANE_SERIAL_BACKEND_H_
