#ifndef MUSTER_TESTS_NCCL_FAKE_NCCL_BOOTSTRAP_ROOT_H_
#define MUSTER_TESTS_NCCL_FAKE_NCCL_BOOTSTRAP_ROOT_H_

#include <nccl.h>
#include <netinet/in.h>

#include <cstdint>

namespace fake_nccl {

// The content of an ncclUniqueId: where its root listens. NCCL's own has the same.
struct RootAddress {
  uint64_t magic = 0;
  sockaddr_in address = {};
};
static_assert(sizeof(RootAddress) <= sizeof(ncclUniqueId));

RootAddress Decode(const ncclUniqueId& id);

// A rank's message to the root of an id. The root introduces each of its ranks to the next rank.
struct CheckIn {
  uint64_t magic = 0;
  int rank = 0;
  int ranks = 0;
  int root = 0;  // index of the id
  int roots = 0;
  bool wants_next = false;   // false: the first rank of the next id, which only tells its address
  sockaddr_in address = {};  // where the previous rank can reach it
};

// Return which id a rank uses, and the first rank of an id, as NCCL spreads ranks over ids.
int RootOf(int rank, int ranks, int roots);
int FirstRankOf(int root, int ranks, int roots);

}  // namespace fake_nccl

#endif  // MUSTER_TESTS_NCCL_FAKE_NCCL_BOOTSTRAP_ROOT_H_
