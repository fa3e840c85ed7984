#ifndef MUSTER_CLIENT_GLOO_COLLECTIVES_OPERATION_H_
#define MUSTER_CLIENT_GLOO_COLLECTIVES_OPERATION_H_

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
  kCreation,  // the steps of Create(): a barrier and two all-gathers
};

// One call on a communicator, as its messages' tag and its errors need it.
struct Operation {
  OperationKind kind = OperationKind::kBarrier;
  size_t count = 0;  // elements; if each rank contributes a part, elements of one part
  DataType type = DataType::kUint8;
  ReduceOp op = ReduceOp::kSum;  // for reductions
  int peer = 0;                  // the root
  uint64_t number = 0;           // among this rank's collectives, from 1
  // For kExchange: its text, by DescribeExchange(). `count` is then the sum over all messages.
  std::string exchange;
  // For operations on parts of several sizes: HashOf() the sizes. `count` is then their sum.
  uint64_t sizes = 0;

  // Returns a text such as "AllReduce of 10 float32 (sum), collective 3" or "Send of 4 int32 to
  // rank 2".
  std::string Describe() const;

  // Returns a hash of everything that ranks must agree on, the same in every process. Ranks that
  // disagree use different tags, so they wait for each other until the time-out. With equal tags,
  // data could arrive in a buffer of the wrong size, for which Gloo ends the process.
  uint32_t Tag() const;

  // Returns the tag together with the low bits of the number. It repeats much later than Tag().
  uint64_t WideTag() const { return number << 32 | Tag(); }

  size_t bytes() const { return count * SizeOf(type); }
};

// One message with its number. The two ends name different peers but count alike, so both compute
// the same tag.
struct NumberedMessage {
  Message message;
  uint64_t number = 0;  // among the messages to, or from, the peer; from 1

  uint32_t Tag() const;
};

uint64_t HashOf(absl::Span<const size_t> sizes);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_COLLECTIVES_OPERATION_H_
