#ifndef MUSTER_CLIENT_NCCL_FEATURES_H_
#define MUSTER_CLIENT_NCCL_FEATURES_H_

#include <nccl.h>

// What the NCCL that this is compiled with has. 2.22 is the oldest that is supported.
#if NCCL_VERSION_CODE < 22200
#error "Muster needs NCCL 2.22 or newer"
#endif

// ncclCommInitRankScalable: more than one id for one communicator.
#define MUSTER_NCCL_HAS_SCALABLE_INIT (NCCL_VERSION_CODE >= 22300)

#define MUSTER_NCCL_HAS_FLOAT8 (NCCL_VERSION_CODE >= 22400)

// This one has a macro for its flags.
#ifdef NCCL_REVOKE_DEFAULT
#define MUSTER_NCCL_HAS_REVOKE 1
#else
#define MUSTER_NCCL_HAS_REVOKE 0
#endif

#endif  // MUSTER_CLIENT_NCCL_FEATURES_H_
