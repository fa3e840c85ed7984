#include <vector>

#include "muster/communicator.h"
#include "tests/bench/contestants/startup_rank.h"

namespace muster::testing {

absl::Status FirstAllReduce(Job& job) {
  const auto comm = Communicator::Create(job);
  if (!comm.ok()) return comm.status();
  std::vector<float> data(kFloats, 1);
  return (*comm)->AllReduce(data);
}

}  // namespace muster::testing
