#ifndef MUSTER_TESTS_FAULT_TENSOR_STEPS_H_
#define MUSTER_TESTS_FAULT_TENSOR_STEPS_H_

#include "absl/status/status.h"
#include "muster/job.h"

// What rank.cc does with muster/tensor_collectives.h.
namespace muster::testing {

// One call of each, with its values.
absl::Status ReduceAndGather(Job& job);

// Calls that are refused on all ranks, since the last one passes something else.
absl::Status Disagree(Job& job);

// A call in the middle of which the process that is rank `killed` ends itself by SIGKILL: as soon
// as some of its tensor has changed.
absl::Status AllReduceKilling(Job& job, int killed);
absl::Status AverageKilling(Job& job, int killed);

}  // namespace muster::testing

#endif  // MUSTER_TESTS_FAULT_TENSOR_STEPS_H_
