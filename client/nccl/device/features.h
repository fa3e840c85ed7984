#ifndef MUSTER_CLIENT_NCCL_DEVICE_FEATURES_H_
#define MUSTER_CLIENT_NCCL_DEVICE_FEATURES_H_

#include <nccl.h>

// The features of the NCCL that this process has loaded. The header does not tell them: a program
// may be built with one version and load another (PyTorch brings its own). So functions that NCCL
// 2.22 lacks are weak references, which are null if the linked library lacks them. Where NCCL is
// loaded at run time (client/nccl/loaded), they are not null, and the version tells.
#if NCCL_VERSION_CODE < 22200
#error "Muster needs NCCL 2.22 or newer"
#endif

extern "C" {
// Since NCCL 2.23.
__attribute__((weak)) ncclResult_t ncclCommInitRankScalable(ncclComm_t* comm, int ranks, int rank,
                                                            int count, ncclUniqueId* ids,
                                                            ncclConfig_t* config);
// Since NCCL 2.28.
__attribute__((weak)) ncclResult_t ncclCommRevoke(ncclComm_t comm, int flags);
}

namespace muster::internal {

inline constexpr int kOldestNcclVersion = 22200;
inline constexpr int kScalableInitNcclVersion = 22300;
inline constexpr int kRevokeNcclVersion = 22800;
inline constexpr int kFloat8NcclVersion = 22400;
inline constexpr int kDrainingNcclVersion = 22400;

// NCCL_REVOKE_DEFAULT and two types, by value, since older headers lack the names.
inline constexpr int kNcclRevokeDefault = 0;
inline constexpr ncclDataType_t kNcclFloat8E4m3 = static_cast<ncclDataType_t>(10);
inline constexpr ncclDataType_t kNcclFloat8E5m2 = static_cast<ncclDataType_t>(11);

// Returns the result of ncclGetVersion(), 22809 for 2.28.9, or 0 if it fails.
inline int LoadedNcclVersion() {
  int version = 0;
  return ncclGetVersion(&version) == ncclSuccess ? version : 0;
}

// Returns whether a communicator may be created from more than one id.
inline bool NcclHasScalableInit() {
  return ncclCommInitRankScalable != nullptr && LoadedNcclVersion() >= kScalableInitNcclVersion;
}

inline bool NcclHasRevoke() {
  return ncclCommRevoke != nullptr && LoadedNcclVersion() >= kRevokeNcclVersion;
}

inline bool NcclHasFloat8() { return LoadedNcclVersion() >= kFloat8NcclVersion; }

// Returns whether NCCL may drop sent data when a communicator ends: see drain.h.
inline bool NcclDropsUnsentWork() { return LoadedNcclVersion() < kDrainingNcclVersion; }

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_DEVICE_FEATURES_H_
