#ifndef MUSTER_SERVER_CORE_DIAGNOSIS_CONDITION_DESCRIPTION_H_
#define MUSTER_SERVER_CORE_DIAGNOSIS_CONDITION_DESCRIPTION_H_

#include <string>

#include "server/core/api/observation.h"
#include "server/core/diagnosis/verdict.h"

namespace muster::core {

// Returns the kind of verdict that this observation of a process supports.
VerdictKind KindOf(const RankObservation& observation);

// Returns text such as "it is in read() of /data/shard-7 for 4m".
std::string DescribeCondition(const RankObservation& observation);

// Returns how likely a process in this condition holds the others up. Higher is likelier.
int Weight(VerdictKind kind);

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_DIAGNOSIS_CONDITION_DESCRIPTION_H_
