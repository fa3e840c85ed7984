#ifndef MUSTER_TESTS_NCCL_FAKE_FAKE_NCCL_H_
#define MUSTER_TESTS_NCCL_FAKE_FAKE_NCCL_H_

#include <nccl.h>

#include <cstdint>
#include <string>

// Functions of the fake NCCL for tests, beside NCCL's own.
namespace fake_nccl {

// Makes NCCL misbehave from now on, as FAKE_NCCL_FAULTS does from the start. README.md lists the
// faults. Counts of calls start again.
void SetFaults(const std::string& faults);

// Returns the communicator's configured maxCTAs, or NCCL_CONFIG_UNDEF_INT.
int MaxCtasOf(ncclComm_t comm);

// Counts of what the process holds now.
struct Counters {
  int64_t communicators = 0;
  int64_t threads = 0;  // includes roots without ranks: no call of NCCL ends them
  int64_t sockets = 0;  // includes those of such roots
};
Counters CurrentCounters();

}  // namespace fake_nccl

#endif  // MUSTER_TESTS_NCCL_FAKE_FAKE_NCCL_H_
