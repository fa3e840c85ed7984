#include "client/launcher/pmix/waiting_ranks.h"

#include <pmix.h>
#include <string.h>

/* Debian 12's version. Others may have the list elsewhere. */
#if PMIX_NUMERIC_VERSION == 0x00040202
#define KNOWN_VERSION " 4.2.2"

#include <src/class/pmix_list.h>
#include <src/class/pmix_pointer_array.h>
#include <src/include/pmix_config.h>
#include <src/include/pmix_globals.h>

/* The beginning of the server's state. Its own header includes files that Debian does not have. */
extern struct {
  pmix_list_t nspaces;
  pmix_pointer_array_t clients;
  pmix_list_t collectives; /* the pmix_server_trkr_t of each that is not complete */
} pmix_server_globals __attribute__((weak));

static int IsOfWholeWorld(const pmix_server_trkr_t* fence) {
  return fence->npcs == 1 && fence->pcs[0].rank == PMIX_RANK_WILDCARD;
}

void muster_pmix_waiting_ranks(void (*add)(void* context, const char* world, int rank),
                               void* context) {
  pmix_server_trkr_t* fence;
  pmix_server_caddy_t* arrival;
  if (&pmix_server_globals == NULL || strstr(PMIx_Get_version(), KNOWN_VERSION) == NULL) return;
  PMIX_LIST_FOREACH(fence, &pmix_server_globals.collectives, pmix_server_trkr_t) {
    if (fence->type != PMIX_FENCENB_CMD || fence->host_called || !IsOfWholeWorld(fence)) continue;
    PMIX_LIST_FOREACH(arrival, &fence->local_cbs, pmix_server_caddy_t) {
      add(context, arrival->peer->info->pname.nspace, (int)arrival->peer->info->pname.rank);
    }
  }
}

#else

void muster_pmix_waiting_ranks(void (*add)(void* context, const char* world, int rank),
                               void* context) {
  (void)add;
  (void)context;
}

#endif
