#ifndef MUSTER_CLIENT_SRC_GROUP_BLOCK_PREVENTIONS_H_
#define MUSTER_CLIENT_SRC_GROUP_BLOCK_PREVENTIONS_H_

namespace muster::internal {

// The open scopes of one job in which a thread does not wait for other ranks (muster/scopes.h). A
// scope belongs to its thread: calls of other threads in the meantime are for all ranks.
class BlockPreventions {
 public:
  BlockPreventions() = default;
  BlockPreventions(const BlockPreventions&) = delete;
  BlockPreventions& operator=(const BlockPreventions&) = delete;

  // All of these concern the calling thread only.
  void Open();
  void Close();
  bool AnyOpen() const;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_GROUP_BLOCK_PREVENTIONS_H_
