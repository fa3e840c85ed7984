#ifndef MUSTER_SCOPES_H_
#define MUSTER_SCOPES_H_

#include "muster/cxx17.h"

#include <memory>
#include <optional>

#include "muster/job.h"

// Blocks that only some ranks run.
//
// A collective that the other ranks will not call would wait for them in vain. While one of these
// scopes is open it does not: every collective of the job, its groups and its communicators returns
// at once with the caller's own value (a list of one where it returns a list), and so do the
// helpers, which run their functions here. Point-to-point calls, leases, Leave() and Rejoin() are
// as ever. Scopes are counted, so they nest, and end also where the block throws.
//
// A scope is the calling thread's alone: what other threads call meanwhile waits for the other
// ranks as ever, also threads that the block starts.
namespace muster {

// Opens such a scope on every rank that runs it. Job::prevents_block() tells that one is open.
class PreventBlock {
 public:
  // Does not block; any thread, which must be the one that ends the scope.
  explicit PreventBlock(Job& job);
  ~PreventBlock();
  PreventBlock(const PreventBlock&) = delete;
  PreventBlock& operator=(const PreventBlock&) = delete;

 private:
  const std::shared_ptr<internal::BlockPreventions> preventions_;
};

namespace internal {

class ScopeOf {
 public:
  // Whether this process is to run the block.
  explicit operator bool() const { return alone_.has_value(); }

 protected:
  ScopeOf(Job& job, bool runs);

 private:
  std::optional<PreventBlock> alone_;
};

}  // namespace internal

// A block for the main process alone; nobody waits:
//
//   if (muster::MainScope main{job}) WriteReport();
//
// Elsewhere the scope is not open.
class MainScope : public internal::ScopeOf {
 public:
  // As PreventBlock.
  explicit MainScope(Job& job) : ScopeOf(job, job.is_main()) {}
};

// The same for one process of each node: local rank 0.
class OncePerNodeScope : public internal::ScopeOf {
 public:
  // As PreventBlock.
  explicit OncePerNodeScope(Job& job) : ScopeOf(job, job.local_rank() == 0) {}
};

}  // namespace muster

#endif  // MUSTER_SCOPES_H_
