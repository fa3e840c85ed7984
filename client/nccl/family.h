#ifndef MUSTER_CLIENT_NCCL_FAMILY_H_
#define MUSTER_CLIENT_NCCL_FAMILY_H_

#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace muster::internal {

class NcclHandle;

// The communicators of this process that have one NCCL abort flag, and therefore one end.
//
// Mostly a family is a single communicator. If NCCL lets a communicator share its resources with
// what is split from it (splitShare), all of them have the parent's abort flag (src/init.cc,
// ncclCommInitChildComm): NCCL cannot stop one of them without ending the kernels of the others,
// whose streams then report success on data that is not reduced. So the end of one member is the
// end of all, and every member knows it before the flag is set.
//
// Thread-safe.
class NcclFamily {
 public:
  void Add(std::weak_ptr<NcclHandle> member);

  // Whether it has ever had two members.
  bool IsShared() const;

  // Ends all members. `first`: the one that has failed, or null if `why` is the end of the job, and
  // so every member's own. Only the first call counts, and returns true. Takes the members' locks:
  // call it with none of them held.
  bool End(const NcclHandle* first, const absl::Status& why);

  // Announces on the members' boards that NCCL is going to be stopped, since they have one abort
  // flag.
  void AnnounceStop();

  // OK, or why `member` has ended. If another member has failed, the text says that they share.
  absl::Status EndOf(const NcclHandle* member) const;

 private:
  std::vector<std::shared_ptr<NcclHandle>> Members() const;

  mutable absl::Mutex mutex_;
  std::vector<std::weak_ptr<NcclHandle>> members_ ABSL_GUARDED_BY(mutex_);
  const NcclHandle* first_ ABSL_GUARDED_BY(mutex_) = nullptr;  // only compared
  absl::Status end_ ABSL_GUARDED_BY(mutex_);
  absl::Status end_of_others_ ABSL_GUARDED_BY(mutex_);
};

// Whether a communicator that has just been created shares its resources with what is split from
// it: `split_share`, which is its ncclConfig_t::splitShare, or NCCL_COMM_SPLIT_SHARE_RESOURCES
// is 1. When NCCL has created a communicator, its configuration files (nccl.conf) are in the
// environment. What a plug-in for the environment (NCCL_ENV_PLUGIN, from NCCL 2.28 on) answers
// cannot be asked, so a process that has one is taken to share.
bool SharesResources(int split_share);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_FAMILY_H_
