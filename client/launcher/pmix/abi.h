#ifndef MUSTER_CLIENT_LAUNCHER_PMIX_ABI_H_
#define MUSTER_CLIENT_LAUNCHER_PMIX_ABI_H_

#include <stddef.h>

// The interface between `muster run` and libmuster_pmix.so, which holds a PMIx server around
// libpmix. `muster` loads the library at run time, so that it needs no libpmix itself. It is C, and
// no exception passes it. Both sides come from one build of Muster; `version` guards against a
// library of another one.
//
//   const auto* pmix = static_cast<const MusterPmix*>(dlsym(library, kMusterPmixSymbol));
//   if (pmix->version != kMusterPmixVersion) ...
//   const char* error = pmix->start("n0", "/tmp/folder", OnRequest, context);
//
// A process has one PMIx server. All calls come from one thread. Calls that may fail return null,
// or a text that is never freed.

extern "C" {

// The calls of a rank.
enum MusterPmixCall {
  kMusterPmixInit = 1,
  kMusterPmixFinalize,
  kMusterPmixAbort,
  kMusterPmixFence,    // all ranks of this node that take part have come
  kMusterPmixModex,    // the data of a rank that is not on this node
  kMusterPmixSpawn,    // MPI_Comm_spawn(); PMIx has refused it
  kMusterPmixName,     // MPI's name service; PMIx has refused it
  kMusterPmixLog,      // a text for the user, which the library has printed
  kMusterPmixWaiting,  // not of a rank: the answer to look()
  kMusterPmixData,     // not of a rank: the answer to fetch()
};

struct MusterPmixRequest {
  int call;
  const char* world;
  int rank;          // that asks, except of a fence; of a modex, and data: whose data they are
  int code;          // of an abort; of data: 0 if the rank has some
  const char* text;  // of an abort; may be null
  const int* ranks;  // in the fence, or waiting for others in a fence of the whole world
  size_t rank_count;
  const char* data;  // of a fence: what the ranks of this node contribute; of data
  size_t size;
  void* ticket;  // for answer(); null if there is no answer
};

// An MPI world, and the part of it on this node.
struct MusterPmixWorld {
  const char* name;
  int size;
  int first_rank;
  int local_size;
  int node;  // the number of this node
  int node_count;
  const char* node_name;  // of this node
  const char* nodes;      // the names of all, in order: "n0,n1"
  const char* ranks;      // of each node: "0,1;2,3"
  const char* folder;     // for files of the ranks. It has a folder for each rank, by number
  int oversubscribed;     // whether this node has more ranks than CPUs
};

struct MusterPmix {
  int version;
  // Returns the name and version of the PMIx library.
  const char* (*describe)(void);
  // Starts the server. Calls `on_request` from a thread of PMIx, with a request that lives until
  // the call returns.
  const char* (*start)(const char* node_name, const char* folder,
                       void (*on_request)(void* context, const MusterPmixRequest* request),
                       void* context);
  const char* (*add_world)(const MusterPmixWorld* world);
  // Forgets the world and removes the files that its ranks have asked PMIx to remove.
  void (*remove_world)(const char* name);
  // Calls `set` with "NAME=value" for each variable with which the rank's process finds the server.
  const char* (*environment)(const char* world, int rank,
                             void (*set)(void* context, const char* variable), void* context);
  // Answers a request, once. The data is what all ranks of a fence contributed, or of a modex.
  void (*answer)(void* ticket, int accepted, const char* data, size_t size);
  // Requests a kMusterPmixWaiting, if this version of libpmix can tell.
  void (*look)(void);
  // Requests a kMusterPmixData, as soon as the rank, which is on this node, has data.
  void (*fetch)(const char* world, int rank);
  // Ends the server. After it, answer() only frees the ticket.
  void (*stop)(void);
};

}  // extern "C"

inline constexpr int kMusterPmixVersion = 4;
// The name of the library's `const MusterPmix`.
inline constexpr char kMusterPmixSymbol[] = "muster_pmix";

#endif  // MUSTER_CLIENT_LAUNCHER_PMIX_ABI_H_
