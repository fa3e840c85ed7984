#ifndef MUSTER_COMMON_RPC_WIRE_CONDITION_H_
#define MUSTER_COMMON_RPC_WIRE_CONDITION_H_

#include "common/rpc/process_condition.h"
#include "muster/v1/coordinator.pb.h"

// Conversions of ProcessCondition to and from the wire. Both enums have the same numbers.
namespace muster {

static_assert(static_cast<int>(ProcessCondition::kUnknown) == v1::PROCESS_CONDITION_UNSPECIFIED);
static_assert(static_cast<int>(ProcessCondition::kComputing) == v1::PROCESS_CONDITION_COMPUTING);
static_assert(static_cast<int>(ProcessCondition::kSleeping) == v1::PROCESS_CONDITION_SLEEPING);
static_assert(static_cast<int>(ProcessCondition::kUninterruptible) ==
              v1::PROCESS_CONDITION_UNINTERRUPTIBLE);
static_assert(static_cast<int>(ProcessCondition::kStopped) == v1::PROCESS_CONDITION_STOPPED);
static_assert(static_cast<int>(ProcessCondition::kTraced) == v1::PROCESS_CONDITION_TRACED);
static_assert(static_cast<int>(ProcessCondition::kEnded) == v1::PROCESS_CONDITION_ENDED);
static_assert(v1::ProcessCondition_MAX == v1::PROCESS_CONDITION_ENDED, "there is a new one");

inline v1::ProcessCondition ToWire(ProcessCondition condition) {
  return static_cast<v1::ProcessCondition>(condition);
}

// Returns kUnknown for a condition that only a newer sender knows.
inline ProcessCondition FromWire(v1::ProcessCondition condition) {
  return v1::ProcessCondition_IsValid(condition) ? static_cast<ProcessCondition>(condition)
                                                 : ProcessCondition::kUnknown;
}

}  // namespace muster

#endif  // MUSTER_COMMON_RPC_WIRE_CONDITION_H_
