#include "client/src/protocol/groups/collective_sequence.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/names/operation_names.h"

namespace muster::internal {
namespace {

// Describes the call in the coordinator's words.
std::string DescribeCall(const CollectiveCall& call) {
  static constexpr const char* kNames[] = {"Barrier", "Broadcast", "Gather", "AllGather"};
  CollectiveFields words = {kNames[static_cast<int>(call.kind)], call.label, std::nullopt,
                            call.type_name, call.payload_size};
  if (call.kind == CollectiveKind::kBroadcast || call.kind == CollectiveKind::kGather) {
    words.root = call.root;
  }
  return DescribeCollective(words);
}

bool SameOperation(const CollectiveCall& a, const CollectiveCall& b) {
  return a.kind == b.kind && a.root == b.root && a.label == b.label && a.type_name == b.type_name &&
         a.payload_size.has_value() == b.payload_size.has_value();
}

}  // namespace

bool NothingRecorded(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsResourceExhausted(status);
}

absl::Status CollectiveSequence::Begin(CollectiveCall call) {
  if (!finished_.ok()) return finished_;
  if (in_progress_) {
    return absl::FailedPreconditionError(
        absl::StrCat(Describe(), " is in progress in another thread, and ", DescribeCall(call),
                     " was called; a group does one collective at a time"));
  }
  if (sends_ == 0) {
    call_ = std::move(call);
  } else if (absl::Status same = CheckSame(call); !same.ok()) {
    return same;
  }
  in_progress_ = true;
  return absl::OkStatus();
}

absl::Status CollectiveSequence::CheckSame(const CollectiveCall& call) const {
  if (!SameOperation(call, call_)) {
    return absl::FailedPreconditionError(
        absl::StrCat(Describe(), " was sent and has not completed, and ", DescribeCall(call),
                     " was called; repeat the first call until it completes, since other ranks may "
                     "count on it"));
  }
  if (call_.arguments == 0 || call.arguments == call_.arguments) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      Describe(),
      " was sent and has not completed, and is repeated with other arguments; repeat it with the "
      "same arguments (shapes, types, operation), since other ranks may have received them"));
}

void CollectiveSequence::End(const absl::Status& status, int sends, bool no_send_counts) {
  in_progress_ = false;
  sends_ += sends;
  if (status.ok()) {
    retained_ = std::move(call_);
    ++number_;
    sends_ = 0;
    refusals_ = 0;
  } else if (absl::IsFailedPrecondition(status)) {
    Finish(status);
  } else if (absl::IsOutOfRange(status)) {
    ++refusals_;
    sends_ = 0;
  } else if (NothingRecorded(status) && (sends_ == 1 || no_send_counts)) {
    sends_ = 0;
  }
}

void CollectiveSequence::Restart() {
  number_ = 0;
  refusals_ = 0;
  sends_ = 0;
  if (!in_progress_) call_ = CollectiveCall();
  retained_.reset();
  finished_ = absl::OkStatus();
}

std::string CollectiveSequence::Describe() const {
  return DescribeStep(DescribeCall(call_), number_, group_);
}

}  // namespace muster::internal
