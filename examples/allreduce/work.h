#ifndef MUSTER_EXAMPLES_ALLREDUCE_WORK_H_
#define MUSTER_EXAMPLES_ALLREDUCE_WORK_H_

#include <cstddef>
#include <string>

#include "muster/communicator.h"

namespace allreduce {

enum class Collective { kAllReduce, kBroadcast, kReduce, kAllGather, kReduceScatter, kSendRecv };

// Its name on the command line and in the table.
absl::string_view NameOf(Collective collective);

// One operation, as all ranks do it. Roots are rank 0; kSendRecv sends to the next rank and
// receives from the one before.
struct Work {
  Collective collective = Collective::kAllReduce;
  muster::DataType type = muster::DataType::kFloat32;
  muster::ReduceOp op = muster::ReduceOp::kSum;
  size_t count = 0;  // elements, as NCCL counts them: of one rank's part where there are parts
  int ranks = 1;
};

// Whether the operation does arithmetic.
bool Reduces(Collective collective);

// The operation on about `bytes` of data: the largest of a rank's buffers has that many, rounded
// down to whole elements and parts, and one element at least.
Work WorkOfBytes(Work work, size_t bytes);

// Elements in a rank's buffers.
size_t InCount(const Work& work);
size_t OutCount(const Work& work);

// Size that the table shows: that of the largest buffer.
size_t Bytes(const Work& work);

// By how much the algorithm bandwidth (size / time) is to be multiplied to become the bandwidth of
// the links that the algorithm cannot do without: see PERFORMANCE.md of nccl-tests.
double BusFactor(const Work& work);

}  // namespace allreduce

#endif  // MUSTER_EXAMPLES_ALLREDUCE_WORK_H_
