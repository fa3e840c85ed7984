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
// what Gloo throws, and Interrupted.
//
// Until this object is gone Gloo's thread may read and write the memory of every message that was
// not awaited: a call may throw in between. So that memory is the caller's, who outlives this, or
// Scratch().
class NodeMessages {
 public:
  // Between two ranks there is at most one message of each kind at a time.
  enum class Kind { kPartial, kResult };

  NodeMessages(const GlooContext& context, const Operation& operation);

  // Memory that stays until Gloo's thread no longer uses it. Not zeroed.
  char* Scratch(size_t bytes);

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
  std::vector<std::unique_ptr<char[]>> scratch_;  // outlives the buffers, which come after it
  std::vector<Buffer> sending_;
  std::vector<Buffer> receiving_;  // null for no bytes
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_NODE_MESSAGES_H_
