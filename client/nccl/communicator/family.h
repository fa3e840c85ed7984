#ifndef MUSTER_CLIENT_NCCL_COMMUNICATOR_FAMILY_H_
#define MUSTER_CLIENT_NCCL_COMMUNICATOR_FAMILY_H_

#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace muster::internal {

class NcclHandle;

// The communicators of this process that have one NCCL abort flag, and so end together.
//
// Usually a family is a single communicator. If NCCL lets a communicator share its resources with
// the communicators that are split from it (splitShare), all of them use the parent's abort flag
// (src/init.cc, ncclCommInitChildComm). NCCL then cannot stop one of them without ending the
// kernels of the others, whose streams report success on data that is not reduced. So the end of
// one member is the end of all, and every member knows it before the flag is set. Thread-safe.
class NcclFamily {
 public:
  void Add(std::weak_ptr<NcclHandle> member);

  // Returns whether the family has ever had two members.
  bool IsShared() const;

  // Ends all members. Only the first call has an effect, and returns true. `first` is the member
  // that has failed, or null if `why` is the end of the job. Takes the members' locks, so call it
  // with none held.
  bool End(const NcclHandle* first, const absl::Status& why);

  // Announces on all members' boards that NCCL is about to be stopped, since they share one abort
  // flag.
  void AnnounceStop();

  // Returns OK, or why `member` has ended. If another member failed, the text says that the two
  // share resources.
  absl::Status MemberHealth(const NcclHandle* member) const;

 private:
  std::vector<std::shared_ptr<NcclHandle>> Members() const;

  mutable absl::Mutex mutex_;
  std::vector<std::weak_ptr<NcclHandle>> members_ ABSL_GUARDED_BY(mutex_);
  const NcclHandle* first_ ABSL_GUARDED_BY(mutex_) = nullptr;  // compared only, never dereferenced
  absl::Status end_ ABSL_GUARDED_BY(mutex_);
  absl::Status others_end_ ABSL_GUARDED_BY(mutex_);
};

// Returns whether a communicator that has just been created shares its resources with communicators
// split from it. That is so if `split_share`, its ncclConfig_t::splitShare, is 1 or
// NCCL_COMM_SPLIT_SHARE_RESOURCES is 1. By now NCCL has put its configuration files (nccl.conf)
// into the environment. An environment plug-in (NCCL_ENV_PLUGIN, from NCCL 2.28 on) cannot be
// asked, so a process that has one counts as sharing.
bool SharesResources(int split_share);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_COMMUNICATOR_FAMILY_H_
