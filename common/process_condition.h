#ifndef MUSTER_COMMON_PROCESS_CONDITION_H_
#define MUSTER_COMMON_PROCESS_CONDITION_H_

namespace muster {

// What a process is doing, as its kernel shows it. The wire's enum of the same name says what each
// of them means; wire_condition.h converts.
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

#endif  // MUSTER_COMMON_PROCESS_CONDITION_H_
