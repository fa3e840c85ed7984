#ifndef MUSTER_SCOPES_H_
#define MUSTER_SCOPES_H_

#include "muster/cxx17.h"

#include <memory>
#include <optional>

#include "muster/job.h"

// Blocks of code that only some ranks run, and that may call collectives all the same:
//
//   if (muster::MainScope main{job}) WriteReport(job);
//
// A collective in such a block would wait forever for the ranks that do not run it. So while a
// scope is open, every collective of the job, its groups and its communicators returns at once with
// the caller's own value (in a list of one, if it returns a list). Helpers run their functions in
// this process. Point-to-point calls, leases, Leave() and Rejoin() are not affected. Scopes nest,
// and an exception ends them too.
//
// A scope affects the calling thread alone. Collectives of other threads wait for the other ranks
// as usual, including threads that the block starts.
namespace muster {

// Opens a scope on every rank that constructs it. Job::prevents_block() returns whether a scope is
// open.
class PreventBlock {
 public:
  // Does not block. Construct and destroy the object in the same thread.
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
  // Returns whether this process runs the block.
  explicit operator bool() const { return alone_.has_value(); }

 protected:
  ScopeOf(Job& job, bool runs);

 private:
  std::optional<PreventBlock> alone_;
};

}  // namespace internal

// A scope for a block that only rank 0 runs. The other ranks skip it and do not wait. The scope is
// open on rank 0 only.
class MainScope : public internal::ScopeOf {
 public:
  // As PreventBlock.
  explicit MainScope(Job& job) : ScopeOf(job, job.is_main()) {}
};

// A scope for a block that only local rank 0 of each node runs.
class OncePerNodeScope : public internal::ScopeOf {
 public:
  // As PreventBlock.
  explicit OncePerNodeScope(Job& job) : ScopeOf(job, job.local_rank() == 0) {}
};

}  // namespace muster

#endif  // MUSTER_SCOPES_H_
