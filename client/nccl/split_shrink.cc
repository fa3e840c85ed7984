// NcclCommunicator's ways to make a communicator of another.

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/nccl/bootstrap.h"
#include "client/nccl/child.h"
#include "client/nccl/features.h"
#include "client/nccl/handle.h"
#include "client/nccl/parts.h"
#include "client/nccl/types.h"
#include "client/src/argument_check.h"
#include "client/src/numbered_group.h"
#include "muster/nccl.h"

namespace muster {
namespace {

using internal::NcclHandle;
using internal::Part;
using internal::Patience;

constexpr char kSplit[] = "splitting the communicator";
constexpr char kShrink[] = "shrinking the communicator";

absl::Status CheckCall(const NcclHandle& handle, absl::string_view what,
                       const CallOptions& options) {
  const internal::ArgumentCheck check(what, handle.rank(), handle.size());
  absl::Status status = check.Timeout(options.timeout);
  return status.ok() ? check.NotAlone(handle.group()) : status;
}

Patience PatienceOf(const NcclHandle& handle, const CallOptions& options) {
  return Patience(options.timeout.value_or(handle.timeout()), options.cancellation);
}

absl::StatusOr<Part> WantedPart(const NcclHandle& handle, const std::optional<Group>& group) {
  if (!group) return Part();
  return internal::PartOf(handle.incarnations(), handle.rank(), *group);
}

// The position of `rank` in `part`, for NCCL's key.
int PositionIn(const Part& part, int rank) {
  return static_cast<int>(std::find(part.begin(), part.end(), rank) - part.begin());
}

#if MUSTER_NCCL_HAS_SHRINK

// The ranks of the communicator that are not among `remaining`. NCCL keeps the order of the others.
absl::StatusOr<Part> Excluded(const NcclHandle& handle, const absl::StatusOr<Part>& remaining) {
  if (!remaining.ok()) return remaining.status();
  if (!std::is_sorted(remaining->begin(), remaining->end())) {
    return absl::InvalidArgumentError(
        "the remaining ranks are in another order than in the communicator, which NCCL keeps");
  }
  const std::set<int> kept(remaining->begin(), remaining->end());
  Part excluded;
  for (int rank = 0; rank < handle.size(); ++rank) {
    if (kept.count(rank) == 0) excluded.push_back(rank);
  }
  if (!excluded.empty()) return excluded;
  return absl::InvalidArgumentError(
      "all ranks of the communicator remain; there is none to exclude");
}

absl::Status CheckSameParts(const Group& group, const std::vector<Part>& parts) {
  for (const Part& part : parts) {
    if (part == parts.front()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("the ranks of ", group.name().empty() ? "the world" : group.name(),
                     " shrink communicators of different ranks; all must shrink the same one"));
  }
  return absl::OkStatus();
}

#endif  // MUSTER_NCCL_HAS_SHRINK

}  // namespace

absl::StatusOr<std::unique_ptr<NcclCommunicator>> NcclCommunicator::Split(
    const std::optional<Group>& part, const CallOptions& options) {
  if (absl::Status status = CheckCall(*handle_, kSplit, options); !status.ok()) return status;
  if (absl::Status status = handle_->health(); !status.ok()) return status;
  const Patience patience = PatienceOf(*handle_, options);
  auto numbered = internal::MeetInNumberedGroup(handle_->group(), kSplit, patience.Remaining());
  if (!numbered.ok()) return numbered.status();
  const Group& group = numbered->group();
  const absl::StatusOr<std::vector<Part>> parts =
      internal::ExchangeParts(group, kSplit, WantedPart(*handle_, part), patience);
  if (!parts.ok()) return parts.status();
  absl::Status status = internal::CheckParts(group, *parts);
  if (!status.ok()) return status;

  const Part& own = (*parts)[handle_->rank()];
  const int color = own.empty() ? NCCL_SPLIT_NOCOLOR : own.front();
  const int key = PositionIn(own, handle_->rank());
  std::shared_ptr<NcclHandle> child;
  if (part) child = NcclHandle::Open(*part, handle_->device(), handle_->timeout());
  status = internal::InitializeTogether(
      group, child.get(), kSplit, patience, [&](const Patience& shorter) {
        return internal::MakeChild(handle_, child.get(), kSplit, shorter,
                                   [&](ncclComm_t parent, ncclComm_t* made) {
                                     return ncclCommSplit(parent, color, key, made, nullptr);
                                   });
      });
  if (!status.ok()) return status;
  numbered->Keep();
  if (child == nullptr) return nullptr;
  return std::make_unique<NcclCommunicator>(std::move(child));
}

absl::StatusOr<std::unique_ptr<NcclCommunicator>> NcclCommunicator::Shrink(
    const Group& remaining, const CallOptions& options) {
#if MUSTER_NCCL_HAS_SHRINK
  if (absl::Status status = CheckCall(*handle_, kShrink, options); !status.ok()) return status;
  const Patience patience = PatienceOf(*handle_, options);
  const absl::StatusOr<Part> own =
      Excluded(*handle_, internal::PartOf(handle_->incarnations(), rank(), remaining));
  auto numbered = internal::MeetInNumberedGroup(remaining, kShrink, patience.Remaining());
  if (!numbered.ok()) return numbered.status();
  const Group& here = numbered->group();
  const absl::StatusOr<std::vector<Part>> parts =
      internal::ExchangeParts(here, kShrink, own, patience);
  if (!parts.ok()) return parts.status();
  absl::Status status = CheckSameParts(remaining, *parts);
  if (!status.ok()) return status;

  Part excluded = *own;
  std::shared_ptr<NcclHandle> child =
      NcclHandle::Open(remaining, handle_->device(), handle_->timeout());
  status = internal::InitializeTogether(
      here, child.get(), kShrink, patience, [&](const Patience& shorter) {
        return internal::MakeChild(
            handle_, child.get(), kShrink, shorter, [&](ncclComm_t parent, ncclComm_t* made) {
              return ncclCommShrink(parent, excluded.data(), static_cast<int>(excluded.size()),
                                    made, nullptr, NCCL_SHRINK_DEFAULT);
            });
      });
  if (!status.ok()) return status;
  numbered->Keep();
  return std::make_unique<NcclCommunicator>(std::move(child));
#else
  return absl::UnimplementedError(
      absl::StrCat(kShrink, " needs NCCL 2.27 or newer; this program was built with NCCL ",
                   internal::NcclVersionText(NCCL_VERSION_CODE), "; create a new communicator"));
#endif
}

}  // namespace muster
