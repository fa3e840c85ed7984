#ifndef MUSTER_CLIENT_GLOO_NODE_MESSAGES_H_
#define MUSTER_CLIENT_GLOO_NODE_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "client/gloo/collectives.h"

namespace muster::internal {

// What one rank sends to ranks of other nodes, and receives of them, in one collective. Gloo's
// thread moves it while this one does something else. Nothing is sent for no bytes. All calls throw
// what Gloo throws, and Interrupted; the buffers must stay until AwaitSent(), or this ends.
class NodeMessages {
 public:
  // Between two ranks there is at most one message of each kind at a time.
  enum class Kind { kPartial, kResult };

  NodeMessages(const GlooContext& context, const Operation& operation);

  void Send(Kind kind, int rank, const void* data, size_t bytes);
  // Its number.
  size_t Receive(Kind kind, int rank, void* data, size_t bytes);
  // Each is awaited at most once.
  void AwaitReceived(size_t number);
  void AwaitSent();

 private:
  using Buffer = std::unique_ptr<gloo::transport::UnboundBuffer>;

  uint64_t SlotOf(Kind kind) const;

  const GlooContext& context_;
  const uint32_t tag_;
  std::vector<Buffer> sending_;
  std::vector<Buffer> receiving_;  // null for no bytes
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_NODE_MESSAGES_H_
