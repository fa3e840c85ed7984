#ifndef MUSTER_TESTS_NCCL_FAKE_NCCL_FAULT_H_
#define MUSTER_TESTS_NCCL_FAKE_NCCL_FAULT_H_

#include <cstdint>
#include <optional>
#include <string>

namespace fake_nccl {

// Whether the call that asks is to misbehave as `name` says, and the fault's argument (0 without
// one). Each question counts as one call: "op-hang@3" is the third.
std::optional<int64_t> Fault(const std::string& name);

}  // namespace fake_nccl

#endif  // MUSTER_TESTS_NCCL_FAKE_NCCL_FAULT_H_
