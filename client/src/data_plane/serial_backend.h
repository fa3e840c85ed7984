#ifndef MUSTER_CLIENT_SRC_DATA_PLANE_SERIAL_BACKEND_H_
#define MUSTER_CLIENT_SRC_DATA_PLANE_SERIAL_BACKEND_H_

#include <memory>

#include "client/src/data_plane/backend.h"

namespace muster::internal {

// The data plane of a group of one: every reduction of one value is that value.
std::unique_ptr<Backend> MakeSerialBackend();

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_DATA_PLANE_SERIAL_BACKEND_H_
