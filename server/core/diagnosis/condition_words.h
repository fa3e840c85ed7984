#ifndef MUSTER_SERVER_CORE_DIAGNOSIS_CONDITION_WORDS_H_
#define MUSTER_SERVER_CORE_DIAGNOSIS_CONDITION_WORDS_H_

#include <string>

#include "server/core/api/observation.h"
#include "server/core/diagnosis/verdict.h"

// Returns the kind of verdict that this observation of a process supports.
namespace muster::core {

VerdictKind KindOf(const RankObservation& seen);

// Returns text such as "it is in read() of /data/shard-7 for 4m".
std::string DescribeCondition(const RankObservation& seen);

// Returns how likely a process in this condition holds the others up. Higher is likelier.
int Weight(VerdictKind kind);

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_DIAGNOSIS_CONDITION_WORDS_H_
