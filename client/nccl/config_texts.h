#ifndef MUSTER_CLIENT_NCCL_CONFIG_TEXTS_H_
#define MUSTER_CLIENT_NCCL_CONFIG_TEXTS_H_

#include <nccl.h>

namespace muster::internal {

// Puts copies that are never freed in place of the texts in *config (commName, netName). NCCL keeps
// the pointer to commName, hands it on to the communicators that are split from that one, and gives
// it to profiler plug-ins; a communicator that NCCL cannot stop is never freed. Each different text
// is kept once.
void KeepTexts(ncclConfig_t* config);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_CONFIG_TEXTS_H_
