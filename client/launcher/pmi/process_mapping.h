#ifndef MUSTER_CLIENT_LAUNCHER_PMI_PROCESS_MAPPING_H_
#define MUSTER_CLIENT_LAUNCHER_PMI_PROCESS_MAPPING_H_

#include <string>
#include <vector>

namespace muster::launcher::pmi {

// Returns the value of PMI_process_mapping, from which MPI libraries learn which ranks share a
// node. Node i has the next `ranks_per_node[i]` ranks. Consecutive nodes of the same size are one
// block, (first node, nodes, ranks per node):
//
//   {4, 4, 3}  ->  "(vector,(0,2,4),(2,1,3))"
std::string ProcessMapping(const std::vector<int>& ranks_per_node);

}  // namespace muster::launcher::pmi

#endif  // MUSTER_CLIENT_LAUNCHER_PMI_PROCESS_MAPPING_H_
