// The functions of NCCL that client/nccl calls, as calls of the loaded NCCL. They fail until it is
// loaded. NCCL 2.22 has all but the optional ones.

#include <nccl.h>

#include "client/nccl/device/features.h"
#include "client/nccl/loaded/loaded_library.h"
#include "client/nccl/loaded/machine_libraries.h"

using muster::internal::LoadedFunction;
using muster::internal::NcclLibrary;
using muster::internal::Presence;

namespace muster::internal {

LoadedLibrary& NcclLibrary() {
  static auto& library = *new LoadedLibrary({"libnccl.so.2"});
  return library;
}

}  // namespace muster::internal

namespace {

const LoadedFunction<decltype(ncclGetErrorString)> error_text(NcclLibrary(), "ncclGetErrorString");
const LoadedFunction<decltype(ncclGetLastError)> last_error(NcclLibrary(), "ncclGetLastError");

}  // namespace

extern "C" {

const char* ncclGetErrorString(ncclResult_t result) {
  return error_text.get() == nullptr ? "NCCL is not loaded" : error_text.get()(result);
}

const char* ncclGetLastError(ncclComm_t comm) {
  return last_error.get() == nullptr ? "" : last_error.get()(comm);
}

// Defines a function that returns a result.
#define FORWARD(presence, function, parameters, arguments)                                    \
  static const LoadedFunction<decltype(function)> loaded_##function(NcclLibrary(), #function, \
                                                                    Presence::presence);      \
  ncclResult_t function parameters {                                                          \
    if (loaded_##function.get() == nullptr) return ncclInvalidUsage;                          \
    return loaded_##function.get() arguments;                                                 \
  }

FORWARD(kRequired, ncclAllGather,
        (const void* in, void* out, size_t count, ncclDataType_t type, ncclComm_t comm,
         cudaStream_t stream),
        (in, out, count, type, comm, stream))
FORWARD(kRequired, ncclAllReduce,
        (const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t op,
         ncclComm_t comm, cudaStream_t stream),
        (in, out, count, type, op, comm, stream))
FORWARD(kRequired, ncclBroadcast,
        (const void* in, void* out, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
         cudaStream_t stream),
        (in, out, count, type, root, comm, stream))
FORWARD(kRequired, ncclCommAbort, (ncclComm_t comm), (comm))
FORWARD(kRequired, ncclCommCount, (const ncclComm_t comm, int* count), (comm, count))
FORWARD(kRequired, ncclCommDestroy, (ncclComm_t comm), (comm))
FORWARD(kRequired, ncclCommFinalize, (ncclComm_t comm), (comm))
FORWARD(kRequired, ncclCommGetAsyncError, (ncclComm_t comm, ncclResult_t* error), (comm, error))
FORWARD(kRequired, ncclCommInitRankConfig,
        (ncclComm_t * comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config),
        (comm, ranks, id, rank, config))
FORWARD(kOptional, ncclCommInitRankScalable,
        (ncclComm_t * comm, int ranks, int rank, int count, ncclUniqueId* ids,
         ncclConfig_t* config),
        (comm, ranks, rank, count, ids, config))
FORWARD(kOptional, ncclCommRevoke, (ncclComm_t comm, int flags), (comm, flags))
FORWARD(kRequired, ncclCommSplit,
        (ncclComm_t comm, int color, int key, ncclComm_t* part, ncclConfig_t* config),
        (comm, color, key, part, config))
FORWARD(kRequired, ncclGetUniqueId, (ncclUniqueId * id), (id))
FORWARD(kRequired, ncclGetVersion, (int* version), (version))
FORWARD(kRequired, ncclGroupEnd, (), ())
FORWARD(kRequired, ncclGroupStart, (), ())
FORWARD(kRequired, ncclRecv,
        (void* data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
         cudaStream_t stream),
        (data, count, type, peer, comm, stream))
FORWARD(kRequired, ncclReduce,
        (const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
         ncclComm_t comm, cudaStream_t stream),
        (in, out, count, type, op, root, comm, stream))
FORWARD(kRequired, ncclReduceScatter,
        (const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t op,
         ncclComm_t comm, cudaStream_t stream),
        (in, out, count, type, op, comm, stream))
FORWARD(kRequired, ncclSend,
        (const void* data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
         cudaStream_t stream),
        (data, count, type, peer, comm, stream))

}  // extern "C"
