#ifndef MUSTER_SERVER_CORE_CONDITION_WORDS_H_
#define MUSTER_SERVER_CORE_CONDITION_WORDS_H_

#include <string>

#include "server/core/observation.h"
#include "server/core/verdict.h"

// What one process is doing, in words, and how much that explains.
namespace muster::core {

VerdictKind KindOf(const RankObservation& seen);

// "it is in read() of /data/shard-7 for 4m".
std::string DescribeCondition(const RankObservation& seen);

// The higher, the more likely it is this process that holds the others up.
int Weight(VerdictKind kind);

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_CONDITION_WORDS_H_
