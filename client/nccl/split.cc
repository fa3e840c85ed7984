// NcclCommunicator::Split(): all ranks agree on the parts, and NCCL splits the communicator.

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/nccl/bootstrap/agreement.h"
#include "client/nccl/bootstrap/bootstrap.h"
#include "client/nccl/bootstrap/split_ranks.h"
#include "client/nccl/communicator/handle.h"
#include "client/nccl/device/cuda_device.h"
#include "client/src/data_plane/argument_check.h"
#include "client/src/group/numbered_group.h"
#include "muster/nccl.h"

namespace muster {
namespace {

using internal::Deadline;
using internal::NcclHandle;
using internal::SplitRanks;

constexpr const char* kSplit = internal::kSplitting;

absl::Status CheckCall(const NcclHandle& handle, const CallOptions& options) {
  const internal::ArgumentCheck check(kSplit, handle.rank(), handle.size());
  absl::Status status = check.Timeout(options.timeout);
  return status.ok() ? check.NotAlone(handle.group()) : status;
}

absl::StatusOr<SplitRanks> RequestedPart(const NcclHandle& handle,
                                         const std::optional<Group>& group) {
  if (!group) return SplitRanks();
  return internal::SplitRanksOf(handle.incarnations(), handle.rank(), *group);
}

// Returns the position of `rank` in `part`, which is its key for ncclCommSplit.
int PositionIn(const SplitRanks& part, int rank) {
  return static_cast<int>(std::find(part.begin(), part.end(), rank) - part.begin());
}

internal::SteadyTime StopDeadline() {
  return internal::SteadyClock::now() + absl::ToChronoNanoseconds(NcclHandle::kStopWait);
}

// Makes the child ready with the communicator that NCCL has made. Sets *adopted once the child has
// it and will free it.
absl::Status Adopt(NcclHandle& child, const Deadline& deadline, ncclComm_t made, bool* adopted) {
  return child.Initialize(kSplit, deadline, [&](ncclComm_t* comm) {
    *comm = made;
    *adopted = true;
    return ncclSuccess;
  });
}

absl::Status NoChildError(const NcclHandle& parent) {
  return absl::InternalError(
      absl::StrCat(parent.Title(kSplit),
                   " failed: NCCL says that ncclCommSplit is complete, but has stored no "
                   "communicator"));
}

// The memory in which NCCL stores the new communicator. NCCL does so from its own thread, at the
// end of the work that ncclCommSplit began (src/init.cc, ncclCommInitRankFunc). Until then the
// memory must not be freed, unless the parent is stopped. Keep() leaks it.
class ChildSlot {
 public:
  ncclComm_t* address() { return made_.get(); }
  ncclComm_t value() const { return __atomic_load_n(made_.get(), __ATOMIC_ACQUIRE); }
  void Keep() { static_cast<void>(made_.release()); }

 private:
  std::unique_ptr<ncclComm_t> made_ = std::make_unique<ncclComm_t>(nullptr);
};

// Ends `parent` after a failure in the middle of NCCL's work, since that is the only way to end
// NCCL's thread. Afterwards nothing more is stored, unless NCCL does not stop.
void EndParent(NcclHandle& parent, NcclHandle& child, const absl::Status& why, ChildSlot& slot) {
  parent.Fail(why);
  if (!parent.AwaitStopped(StopDeadline())) return slot.Keep();
  // NCCL has completed the split anyway, and a loss or a deadline came in between.
  if (slot.value() != nullptr) child.TakeOver(slot.value(), why, StopDeadline());
}

// Makes `child` ready with a communicator that NCCL splits from the parent's. ncclCommSplit returns
// ncclSuccess before it has stored anything; the parent's asynchronous state says when it has.
absl::Status MakeChild(NcclHandle& parent, NcclHandle& child, const Deadline& deadline, int color,
                       int key) {
  ChildSlot slot;
  absl::Status status = parent.Run(kSplit, deadline, [&](ncclComm_t comm) {
    return ncclCommSplit(comm, color, key, slot.address(), nullptr);
  });
  if (!status.ok()) {
    EndParent(parent, child, status, slot);
    return status;
  }
  if (slot.value() == nullptr) {
    slot.Keep();
    status = NoChildError(parent);
    parent.Fail(status);
    return status;
  }
  bool adopted = false;
  status = Adopt(child, deadline, slot.value(), &adopted);
  // An error of the child ends only the child; the parent is unchanged.
  if (!adopted) child.TakeOver(slot.value(), status, StopDeadline());
  return status;
}

// Opens the board of a part. Its name consists of the parent's board, the number of the split and
// the part's first rank. After a split that succeeds, the number may be used again. No rank needs
// the name any more then, because each rank removes it before its next split.
std::unique_ptr<internal::StopBoard> OpenBoard(const NcclHandle& parent, const Group& numbered,
                                               const SplitRanks& part) {
  if (parent.board() == nullptr || part.empty()) return nullptr;
  return internal::OpenStopBoard(
      absl::StrCat(parent.board()->name(), " ", numbered.name(), " ", part.front()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<NcclCommunicator>> NcclCommunicator::Split(
    const std::optional<Group>& part, const CallOptions& options) {
  if (absl::Status status = CheckCall(*handle_, options); !status.ok()) return status;
  if (absl::Status status = handle_->health(); !status.ok()) return status;
  const Deadline deadline = DeadlineOf(*handle_, options);
  const internal::ScopedDevice current(device());
  auto numbered =
      internal::AgreeOnNumberedGroup(handle_->group(), internal::kSplitCall, deadline.Remaining());
  if (!numbered.ok()) return numbered.status();
  const Group& group = numbered->group();
  const absl::StatusOr<std::vector<SplitRanks>> parts =
      internal::ExchangeSplitRanks(group, kSplit, RequestedPart(*handle_, part), deadline);
  if (!parts.ok()) return parts.status();
  absl::Status status = internal::CheckSplitRanks(group, *parts);
  if (!status.ok()) return status;

  const SplitRanks& own = (*parts)[handle_->rank()];
  // A rank in no part makes a communicator of its own and closes it. NCCL_SPLIT_NOCOLOR is not
  // used: if such a split is aborted, NCCL crashes on that rank (src/init.cc, ncclCommInitRankFunc:
  // it stores the error in a child that is null).
  const int color = own.empty() ? handle_->rank() : own.front();
  const int key = PositionIn(own, handle_->rank());
  const std::shared_ptr<NcclHandle> child =
      handle_->OpenChild(part.value_or(handle_->group()), OpenBoard(*handle_, group, own));
  status = internal::InitializeOnAllRanks(
      group, child.get(), kSplit, deadline,
      [&](const Deadline& shorter) { return MakeChild(*handle_, *child, shorter, color, key); });
  if (child->board() != nullptr) child->board()->Unlink();
  if (!status.ok()) return status;
  numbered->Keep();
  if (part) return std::make_unique<NcclCommunicator>(child);
  child->Close(deadline);
  return nullptr;
}

}  // namespace muster
