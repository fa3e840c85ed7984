#ifndef MUSTER_CLIENT_NCCL_BOOTSTRAP_CONFIG_STRINGS_H_
#define MUSTER_CLIENT_NCCL_BOOTSTRAP_CONFIG_STRINGS_H_

#include <nccl.h>

namespace muster::internal {

// Replaces the texts in *config (commName, netName) with copies that are never freed. NCCL keeps
// the pointer to commName, passes it to communicators that are split from this one, and gives it to
// profiler plug-ins. A communicator that NCCL cannot stop is never freed, so its texts cannot be
// either. Each different text is kept once.
void InternConfigStrings(ncclConfig_t* config);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_BOOTSTRAP_CONFIG_STRINGS_H_
