#ifndef MUSTER_CLIENT_SRC_JOB_BLOCK_PREVENTIONS_H_
#define MUSTER_CLIENT_SRC_JOB_BLOCK_PREVENTIONS_H_

namespace muster::internal {

// The open scopes of one job in which nothing waits for other ranks (muster/scopes.h). Each is its
// thread's alone: what other threads of the process call meanwhile is meant for all ranks.
class BlockPreventions {
 public:
  BlockPreventions() = default;
  BlockPreventions(const BlockPreventions&) = delete;
  BlockPreventions& operator=(const BlockPreventions&) = delete;

  // All of these are about the calling thread.
  void Open();
  void Close();
  bool AnyOpen() const;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_JOB_BLOCK_PREVENTIONS_H_
