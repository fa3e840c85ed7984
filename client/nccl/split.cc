// NcclCommunicator::Split().

#include <algorithm>
#include <utility>

#include "client/nccl/bootstrap.h"
#include "client/nccl/device.h"
#include "client/nccl/handle.h"
#include "client/nccl/split_ranks.h"
#include "client/src/data_plane/argument_check.h"
#include "client/src/job/numbered_group.h"
#include "muster/nccl.h"

namespace muster {
namespace {

using internal::Deadline;
using internal::NcclHandle;
using internal::SplitRanks;

constexpr char kSplit[] = "splitting the communicator";

absl::Status CheckCall(const NcclHandle& handle, const CallOptions& options) {
  const internal::ArgumentCheck check(kSplit, handle.rank(), handle.size());
  absl::Status status = check.Timeout(options.timeout);
  return status.ok() ? check.NotAlone(handle.group()) : status;
}

Deadline DeadlineOf(const NcclHandle& handle, const CallOptions& options) {
  return Deadline(options.timeout.value_or(handle.timeout()), options.cancellation);
}

absl::StatusOr<SplitRanks> WantedPart(const NcclHandle& handle, const std::optional<Group>& group) {
  if (!group) return SplitRanks();
  return internal::SplitRanksOf(handle.incarnations(), handle.rank(), *group);
}

// The position of `rank` in `part`, for NCCL's key.
int PositionIn(const SplitRanks& part, int rank) {
  return static_cast<int>(std::find(part.begin(), part.end(), rank) - part.begin());
}

internal::SteadyTime StopDeadline() {
  return internal::SteadyClock::now() + absl::ToChronoNanoseconds(NcclHandle::kStopWait);
}

// Makes the child ready with what NCCL has made. *adopted: the child has it, and frees it.
absl::Status Adopt(NcclHandle& child, const Deadline& deadline, ncclComm_t made, bool* adopted) {
  return child.Initialize(kSplit, deadline, [&](ncclComm_t* comm) {
    *comm = made;
    *adopted = true;
    ncclResult_t state = ncclSuccess;
    const ncclResult_t called = ncclCommGetAsyncError(made, &state);
    return called == ncclSuccess ? state : called;
  });
}

// Makes `child` (null: this rank gets none) ready with a communicator that NCCL makes of
// `parent`'s. ncclCommSplit writes the new communicator from a thread of NCCL, at its end
// (src/init.cc, ncclCommInitChildComm), and the parent's state says when that is. A failure ends
// `parent` too: that is how NCCL's thread is ended.
absl::Status MakeChild(NcclHandle& parent, NcclHandle* child, const Deadline& deadline, int color,
                       int key) {
  auto made = std::make_unique<ncclComm_t>(nullptr);
  absl::Status status = parent.Run(kSplit, deadline, [&](ncclComm_t comm) {
    return ncclCommSplit(comm, color, key, made.get(), nullptr);
  });
  bool adopted = false;
  if (status.ok()) {
    if (child == nullptr || *made == nullptr) return absl::OkStatus();
    status = Adopt(*child, deadline, *made, &adopted);
    // An error of the child ends the child; the parent is as it was.
    if (status.ok() || adopted) return status;
  } else {
    parent.Fail(status);
    if (!parent.AwaitStopped(StopDeadline())) {
      static_cast<void>(made.release());  // NCCL's thread may write to it yet
      return status;
    }
  }
  // NCCL has made it all the same: a loss, or a deadline, came in between.
  if (*made != nullptr) child->TakeOver(*made, status, StopDeadline());
  return status;
}

}  // namespace

absl::StatusOr<std::unique_ptr<NcclCommunicator>> NcclCommunicator::Split(
    const std::optional<Group>& part, const CallOptions& options) {
  if (absl::Status status = CheckCall(*handle_, options); !status.ok()) return status;
  if (absl::Status status = handle_->health(); !status.ok()) return status;
  const Deadline deadline = DeadlineOf(*handle_, options);
  const internal::ScopedDevice current(device());
  auto numbered = internal::MeetInNumberedGroup(handle_->group(), kSplit, deadline.Remaining());
  if (!numbered.ok()) return numbered.status();
  const Group& group = numbered->group();
  const absl::StatusOr<std::vector<SplitRanks>> parts =
      internal::ExchangeSplitRanks(group, kSplit, WantedPart(*handle_, part), deadline);
  if (!parts.ok()) return parts.status();
  absl::Status status = internal::CheckSplitRanks(group, *parts);
  if (!status.ok()) return status;

  const SplitRanks& own = (*parts)[handle_->rank()];
  const int color = own.empty() ? NCCL_SPLIT_NOCOLOR : own.front();
  const int key = PositionIn(own, handle_->rank());
  std::shared_ptr<NcclHandle> child;
  if (part) child = NcclHandle::Open(*part, handle_->device(), handle_->timeout());
  status = internal::InitializeTogether(
      group, child.get(), kSplit, deadline, [&](const Deadline& shorter) {
        return MakeChild(*handle_, child.get(), shorter, color, key);
      });
  if (!status.ok()) return status;
  numbered->Keep();
  if (child == nullptr) return nullptr;
  return std::make_unique<NcclCommunicator>(std::move(child));
}

}  // namespace muster
