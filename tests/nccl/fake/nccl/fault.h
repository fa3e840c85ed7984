#ifndef MUSTER_TESTS_NCCL_FAKE_NCCL_FAULT_H_
#define MUSTER_TESTS_NCCL_FAKE_NCCL_FAULT_H_

#include <cstdint>
#include <optional>
#include <string>

namespace fake_nccl {

// Returns the argument of fault `name` if this call must misbehave (0 if the fault has no
// argument), or nullopt. Each question counts as one call: "op-hang@3" is the third.
std::optional<int64_t> Fault(const std::string& name);

}  // namespace fake_nccl

#endif  // MUSTER_TESTS_NCCL_FAKE_NCCL_FAULT_H_
