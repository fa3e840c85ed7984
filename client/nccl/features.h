#ifndef MUSTER_CLIENT_NCCL_FEATURES_H_
#define MUSTER_CLIENT_NCCL_FEATURES_H_

#include <nccl.h>

// What the NCCL that this process has loaded can do. The header is not asked: a program may be
// built with one version and load another (PyTorch brings its own), so functions that NCCL 2.22
// lacks are weak references, which are null where the loaded library lacks them.
#if NCCL_VERSION_CODE < 22200
#error "Muster needs NCCL 2.22 or newer"
#endif

extern "C" {
// NCCL 2.23.
__attribute__((weak)) ncclResult_t ncclCommInitRankScalable(ncclComm_t* comm, int ranks, int rank,
                                                            int count, ncclUniqueId* ids,
                                                            ncclConfig_t* config);
// NCCL 2.28.
__attribute__((weak)) ncclResult_t ncclCommRevoke(ncclComm_t comm, int flags);
}

namespace muster::internal {

inline constexpr int kOldestNcclVersion = 22200;
inline constexpr int kFloat8NcclVersion = 22400;
inline constexpr int kDrainingNcclVersion = 22400;

// NCCL_REVOKE_DEFAULT and two types, by value: older headers lack the names.
inline constexpr int kNcclRevokeDefault = 0;
inline constexpr ncclDataType_t kNcclFloat8E4m3 = static_cast<ncclDataType_t>(10);
inline constexpr ncclDataType_t kNcclFloat8E5m2 = static_cast<ncclDataType_t>(11);

// Whether one communicator may have more than one id.
inline bool NcclHasScalableInit() { return ncclCommInitRankScalable != nullptr; }

inline bool NcclHasRevoke() { return ncclCommRevoke != nullptr; }

// ncclGetVersion(): 22809 for 2.28.9. 0 if it fails.
inline int LoadedNcclVersion() {
  int version = 0;
  return ncclGetVersion(&version) == ncclSuccess ? version : 0;
}

inline bool NcclHasFloat8() { return LoadedNcclVersion() >= kFloat8NcclVersion; }

// Whether a communicator that ends may leave what was sent unsent: see drain.h.
inline bool NcclDropsUnsentWork() { return LoadedNcclVersion() < kDrainingNcclVersion; }

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_FEATURES_H_
