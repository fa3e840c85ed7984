#ifndef MUSTER_CLIENT_LAUNCHER_PMIX_WAITING_RANKS_H_
#define MUSTER_CLIENT_LAUNCHER_PMIX_WAITING_RANKS_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Calls `add` with the world and number of each rank that waits for others in a fence of its whole
 * world. PMIx has no call for that: its server counts the ranks of a node itself and tells its host
 * of a fence when all have come. So this reads the server's own list. Does nothing unless libpmix
 * is the very version that this was compiled with. Call it from PMIx's own thread. */
void muster_pmix_waiting_ranks(void (*add)(void* context, const char* world, int rank),
                               void* context);

#ifdef __cplusplus
}
#endif

#endif  // MUSTER_CLIENT_LAUNCHER_PMIX_WAITING_RANKS_H_
