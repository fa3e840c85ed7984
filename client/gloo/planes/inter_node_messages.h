#ifndef MUSTER_CLIENT_GLOO_PLANES_INTER_NODE_MESSAGES_H_
#define MUSTER_CLIENT_GLOO_PLANES_INTER_NODE_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "client/gloo/collectives/gloo_collectives.h"

namespace muster::internal {

// The messages between one rank and ranks of other nodes in one collective. Gloo's thread moves the
// data while this thread does something else. A message of no bytes is not sent. All calls throw
// what Gloo throws, and Interrupted.
//
// Any call may throw while messages are in flight. Until this object is destroyed, Gloo's thread
// may still read and write the memory of every message that was not awaited. So that memory must
// outlive this object: it belongs to a caller that does, or comes from Scratch().
class InterNodeMessages {
 public:
  // At most one message of each kind is in flight between two ranks.
  enum class Kind { kPartial, kResult };

  InterNodeMessages(const GlooContext& context, const Operation& operation);

  // Returns memory that stays valid until Gloo's thread no longer uses it. Not zeroed.
  char* Scratch(size_t bytes);

  void Send(Kind kind, int rank, const void* data, size_t bytes);
  // Posts a receive and returns its number.
  size_t Receive(Kind kind, int rank, void* data, size_t bytes);
  // Blocks until the message of this number has arrived. Call it at most once for each number.
  void AwaitReceived(size_t number);
  void AwaitSent();

 private:
  using Buffer = std::unique_ptr<gloo::transport::UnboundBuffer>;

  uint64_t SlotOf(Kind kind) const;

  const GlooContext& context_;
  const uint32_t tag_;
  std::vector<std::unique_ptr<char[]>> scratch_;  // outlives the buffers below
  std::vector<Buffer> sending_;
  std::vector<Buffer> receiving_;  // null for no bytes
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_PLANES_INTER_NODE_MESSAGES_H_
