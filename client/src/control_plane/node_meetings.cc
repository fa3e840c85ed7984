#include "client/src/control_plane/node_meetings.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/node_names.h"

namespace muster::internal {
namespace {

// Members that have not mapped the segment by then usually never will.
constexpr std::chrono::seconds kAllShouldHaveCome(10);

// The largest part of /dev/shm that all members of a node use. A container may have only 64 MiB,
// most of which NCCL needs.
constexpr size_t kMostMemory = 8 << 20;
constexpr size_t kMostGroups = 16;

// Returns a number that is the same on all members of the node.
uint32_t GroupsFor(const SegmentOptions& options) {
  const size_t group = (options.content_bytes + options.result_bytes) * size_t{options.members};
  return static_cast<uint32_t>(std::clamp<size_t>(kMostMemory / group, 1, kMostGroups));
}

int64_t NanosOf(SteadyTime time) {
  return std::chrono::nanoseconds(time.time_since_epoch()).count();
}

}  // namespace

absl::StatusOr<std::unique_ptr<NodeSegment>> NodeMeetings::Open(const EnterNode& enter) {
  SegmentOptions options;
  options.job_id = enter.job_id;
  options.epoch_number = enter.epoch.number;
  options.epoch_nonce = enter.epoch.nonce;
  options.node_id = enter.node_id;
  options.members = enter.members;
  options.self = enter.self;
  options.groups = GroupsFor(options);
  return NodeSegment::Open(options);
}

void NodeMeetings::Enter(const EnterNode& enter,
                         absl::StatusOr<std::unique_ptr<NodeSegment>> segment) {
  node_ = enter;
  places_.clear();
  retired_.clear();
  segment_.reset();
  if (segment.ok()) {
    segment_ = *std::move(segment);
  } else {
    news_ = CallsAlone(segment.status().message());
  }
  entered_ = SteadyClock::now();
  told_ = false;
}

bool NodeMeetings::IsReady() {
  if (segment_ == nullptr) return false;
  if (segment_->Ready()) return true;
  if (!told_ && SteadyClock::now() > entered_ + kAllShouldHaveCome) {
    told_ = true;
    news_ = CallsAlone(absl::StrCat(segment_->Mapped(), " of ", node_.members, " share memory (",
                                    segment_->path(),
                                    "); containers need a common /dev/shm and user for that"));
  }
  return false;
}

std::string NodeMeetings::CallsAlone(absl::string_view why) const {
  return absl::StrCat("job '", node_.job_id, "': ranks of ", NodeNames().Describe(node_.node_id),
                      " call the coordinator each by itself: ", why);
}

std::shared_ptr<NodeMeetings::Place> NodeMeetings::Find(const NodeGroup& group) {
  if (!IsReady() || retired_.count(group.name) > 0) return nullptr;
  const auto [entry, is_new] = places_.try_emplace(group.name);
  if (!is_new) return entry->second;
  if (std::optional<std::vector<SharedSlot>> slots = segment_->FindGroup(group.name)) {
    entry->second = std::make_shared<Place>(segment_, *std::move(slots), group, node_.self, times_);
  }
  return entry->second;
}

// If a place is still in use, its last meeting was left, but its thread has not noticed yet. The
// member then makes its own call.
std::shared_ptr<NodeMeetings::Place> NodeMeetings::Begin(const MeetAtNode& meet) {
  std::shared_ptr<Place> place = Find(*meet.group);
  if (place == nullptr || place->attempt != 0 ||
      !place->meeting.Begin(meet.contribution, NanosOf(meet.deadline))) {
    return nullptr;
  }
  place->attempt = meet.contribution.attempt;
  return place;
}

void NodeMeetings::Leave(uint64_t attempt) {
  for (const auto& [name, place] : places_) {
    if (place != nullptr && place->attempt == attempt) place->slots.Revoke();
  }
}

// The slots keep their old numbers and stay unused.
void NodeMeetings::Retire(const LeaveNodeGroup& leave) {
  const auto place = places_.find(leave.name);
  if (place == places_.end()) return;
  if (place->second != nullptr) retired_.insert(leave.name);
  places_.erase(place);
}

void NodeMeetings::Pass(const PassNode& pass) {
  const std::shared_ptr<Place> place = Find(*pass.group);
  if (place != nullptr && place->attempt == 0) place->slots.Pass(pass.sequence);
}

}  // namespace muster::internal
