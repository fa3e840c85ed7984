#ifndef MUSTER_EXAMPLES_ALLREDUCE_WORK_H_
#define MUSTER_EXAMPLES_ALLREDUCE_WORK_H_

#include <cstddef>
#include <string>

#include "muster/communicator.h"

namespace allreduce {

enum class Collective { kAllReduce, kBroadcast, kReduce, kAllGather, kReduceScatter, kSendRecv };

// Returns the collective's name on the command line and in the table.
absl::string_view NameOf(Collective collective);

// One operation, as all ranks run it. The root is rank 0. kSendRecv sends to the next rank and
// receives from the one before.
struct Work {
  Collective collective = Collective::kAllReduce;
  muster::DataType type = muster::DataType::kFloat32;
  muster::ReduceOp op = muster::ReduceOp::kSum;
  size_t count = 0;  // elements as NCCL counts them: of one rank's part if there are parts
  int ranks = 1;
};

// Returns whether the operation does arithmetic.
bool Reduces(Collective collective);

// Returns the operation on about `bytes` of data. The largest buffer of a rank has that size,
// rounded down to whole elements and parts, and at least one element.
Work WorkOfBytes(Work work, size_t bytes);

// Return the number of elements in a rank's buffers.
size_t InCount(const Work& work);
size_t OutCount(const Work& work);

// Returns the size that the table shows, which is the size of the largest buffer.
size_t Bytes(const Work& work);

// Returns the factor from the algorithm bandwidth (size / time) to the bandwidth that the algorithm
// needs on each link: see PERFORMANCE.md of nccl-tests.
double BusFactor(const Work& work);

}  // namespace allreduce

#endif  // MUSTER_EXAMPLES_ALLREDUCE_WORK_H_
