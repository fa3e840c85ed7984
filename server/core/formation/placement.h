#ifndef MUSTER_SERVER_CORE_FORMATION_PLACEMENT_H_
#define MUSTER_SERVER_CORE_FORMATION_PLACEMENT_H_

#include <optional>
#include <string>
#include <vector>

#include "server/core/api/types.h"

namespace muster::core {

// A member's constraints on its place, as its Join gives them.
struct PlacementConstraints {
  uint32_t world_size = 0;  // 0: unspecified
  std::optional<uint32_t> rank;
  std::optional<uint32_t> local_rank;
  std::optional<uint32_t> node_rank;
  std::string topology;
};

struct Candidate {
  MemberIdentity member;
  PlacementConstraints constraints;
};

// Returns the roster, in rank order. `candidates` are in the order of their arrival.
//
// If every candidate asks for a rank, each gets it; the ranks must be 0..n-1, each once. Otherwise
// the ranks of a node are contiguous. Nodes are ordered by requested node rank, then topology, then
// arrival. Members of a node are ordered by requested local rank, then arrival. Candidates with
// constraints come before candidates without.
Roster AssignPlaces(const std::vector<Candidate>& candidates);

// A member of the previous epoch.
struct Survivor {
  MemberIdentity member;
  uint32_t previous_rank = 0;
};

// Returns the roster of an epoch that follows another, whose roster is `previous`. `survivors` are
// in rank order and keep it. Each keeps its exact rank unless that leaves another one out, and the
// first of them is rank 0. Newcomers, in the order of their arrival, take the vacant ranks: the
// rank that they ask for, else a rank that their node had, else any.
Roster ReassignPlaces(const std::vector<Survivor>& survivors,
                      const std::vector<Candidate>& newcomers, const Roster& previous);

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_FORMATION_PLACEMENT_H_
