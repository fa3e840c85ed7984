#ifndef MUSTER_SERVER_CORE_PLACEMENT_H_
#define MUSTER_SERVER_CORE_PLACEMENT_H_

#include <optional>
#include <string>
#include <vector>

#include "server/core/types.h"

namespace muster::core {

// What a member asks for when it joins.
struct PlaceWish {
  uint32_t world_size = 0;  // 0: unspecified
  std::optional<uint32_t> rank;
  std::optional<uint32_t> local_rank;
  std::optional<uint32_t> node_rank;
  std::string topology;
};

struct Candidate {
  MemberIdentity member;
  PlaceWish wish;
};

// The places of the candidates, who come in the order of their arrival: the roster, in rank order.
//
// If every candidate asks for a rank, those are the ranks; they must be 0..n-1, each once. Else the
// ranks of a node are contiguous: nodes are ordered by requested node rank, then topology, then
// arrival, and the members of a node by requested local rank, then arrival. A wish comes before
// none.
Roster AssignPlaces(const std::vector<Candidate>& candidates);

// A member of the epoch before.
struct Survivor {
  MemberIdentity member;
  uint32_t previous_rank = 0;
};

// The places in an epoch that follows another one, of which `previous` is the roster. `survivors`
// are in rank order and keep it; each keeps its very rank where that leaves nobody out, and the
// first of them is rank 0. Newcomers, who come in the order of their arrival, take what is vacated:
// the rank that they ask for, else one that was their node's, else any.
Roster ReassignPlaces(const std::vector<Survivor>& survivors,
                      const std::vector<Candidate>& newcomers, const Roster& previous);

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_PLACEMENT_H_
