#ifndef MUSTER_CLIENT_GLOO_OPERATION_H_
#define MUSTER_CLIENT_GLOO_OPERATION_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "client/src/data_plane/backend.h"
#include "muster/communicator.h"

namespace muster::internal {

enum class OperationKind {
  kAllReduce,
  kBroadcast,
  kReduce,
  kAllGather,
  kReduceScatter,
  kExchange,
  kAllToAll,
  kAllGatherUneven,
  kBarrier,
  kMeeting,  // the barrier that Create() ends with
};

// One call on a communicator, for its messages' tag and for errors.
struct Operation {
  OperationKind kind = OperationKind::kBarrier;
  size_t count = 0;  // elements; of one rank, where ranks contribute parts
  DataType type = DataType::kUint8;
  ReduceOp op = ReduceOp::kSum;  // of reductions
  int peer = 0;                  // the root
  uint64_t number = 0;           // of this rank's collectives, from 1
  // Of kExchange, of whose messages `count` is the sum: what it is, by DescribeExchange().
  std::string exchange;
  // Of what has parts of several sizes: HashOf() them; then `count` is that of all.
  uint64_t sizes = 0;

  // "AllReduce of 10 float32 (sum), collective 3", "Send of 4 int32 to rank 2".
  std::string Describe() const;

  // A hash of all that ranks must agree on. Messages of ranks that disagree have different tags, so
  // that they wait for each other instead of being written into buffers of the wrong size, for
  // which Gloo ends the process. The same in every process.
  uint32_t Tag() const;

  // The same and the number itself: differs from that of any other call for longer.
  uint64_t WideTag() const { return number << 32 | Tag(); }

  size_t bytes() const { return count * SizeOf(type); }
};

// The same for one message: its two ends name different peers, and count alike.
struct NumberedMessage {
  Message message;
  uint64_t number = 0;  // among those to, or from, the peer, from 1

  uint32_t Tag() const;
};

uint64_t HashOf(absl::Span<const size_t> sizes);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_OPERATION_H_
