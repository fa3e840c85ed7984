#ifndef MUSTER_COMMON_RPC_PROCESS_CONDITION_H_
#define MUSTER_COMMON_RPC_PROCESS_CONDITION_H_

namespace muster {

// The state of a process as its kernel shows it. The wire's enum of the same name explains each
// value; wire_condition.h converts.
enum class ProcessCondition {
  kUnknown,
  kComputing,
  kSleeping,
  kUninterruptible,
  kStopped,
  kTraced,
  kEnded
};

}  // namespace muster

#endif  // MUSTER_COMMON_RPC_PROCESS_CONDITION_H_
