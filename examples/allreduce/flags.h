#ifndef MUSTER_EXAMPLES_ALLREDUCE_FLAGS_H_
#define MUSTER_EXAMPLES_ALLREDUCE_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "examples/allreduce/work.h"

namespace allreduce {

struct Flags {
  Collective collective = Collective::kAllReduce;
  muster::DataType type = muster::DataType::kFloat32;
  muster::ReduceOp op = muster::ReduceOp::kSum;
  uint64_t min_bytes = uint64_t{1} << 10;
  uint64_t max_bytes = uint64_t{16} << 20;
  uint64_t step_factor = 4;
  int warmup = 5;
  int iterations = 20;
  bool check = true;
  std::string backend;  // empty if the SDK chooses
};

// Parses the command line into `flags`. After --help, or an error, which it prints, returns the
// status to exit with. Otherwise returns nullopt.
std::optional<int> ParseFlags(int argc, char** argv, Flags* flags);

}  // namespace allreduce

#endif  // MUSTER_EXAMPLES_ALLREDUCE_FLAGS_H_
