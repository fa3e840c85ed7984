#ifndef MUSTER_TESTS_NCCL_FAKE_FAKE_NCCL_H_
#define MUSTER_TESTS_NCCL_FAKE_FAKE_NCCL_H_

#include <nccl.h>

#include <cstdint>
#include <string>

// What the fake NCCL offers tests beside NCCL's own functions.
namespace fake_nccl {

// Makes NCCL misbehave from now on, as the variable FAKE_NCCL_FAULTS does from the start; README.md
// lists the faults. Counts of calls start anew.
void SetFaults(const std::string& faults);

// What the communicator was configured with; NCCL_CONFIG_UNDEF_INT: nothing.
int MaxCtasOf(ncclComm_t comm);

// What the process holds now.
struct Counters {
  int64_t communicators = 0;
  int64_t threads = 0;  // roots that nobody used included, as NCCL has no call that ends them
  int64_t sockets = 0;  // likewise
};
Counters Live();

}  // namespace fake_nccl

#endif  // MUSTER_TESTS_NCCL_FAKE_FAKE_NCCL_H_
