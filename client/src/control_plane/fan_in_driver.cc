#include "client/src/control_plane/fan_in_driver.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/names/node_names.h"

namespace muster::internal {
namespace {

// Members that have not mapped the segment by then usually never will.
constexpr std::chrono::seconds kMappingGrace(10);

// The largest part of /dev/shm that all members of a node use. A container may have only 64 MiB,
// most of which NCCL needs.
constexpr size_t kMaxFanInMemory = 8 << 20;
constexpr size_t kMaxFanInGroups = 16;

// The room for the part of a published result that is not payloads.
constexpr uint32_t kBesidePayloads = 4 << 10;

// Returns a number that is the same on all members of the node.
uint32_t GroupsFor(const SegmentOptions& options) {
  const size_t group = (options.content_bytes + options.result_bytes) * size_t{options.members};
  return static_cast<uint32_t>(std::clamp<size_t>(kMaxFanInMemory / group, 1, kMaxFanInGroups));
}

int64_t NanosOf(SteadyTime time) {
  return std::chrono::nanoseconds(time.time_since_epoch()).count();
}

}  // namespace

absl::StatusOr<std::unique_ptr<NodeSegment>> FanInDriver::Open(const EnterNode& enter) {
  SegmentOptions options;
  options.job_id = enter.job_id;
  options.epoch_number = enter.epoch.number;
  options.epoch_nonce = enter.epoch.nonce;
  options.node_id = enter.node_id;
  options.members = enter.members;
  options.self = enter.self;
  options.result_bytes = enter.max_answer_bytes + kBesidePayloads;
  options.groups = GroupsFor(options);
  return NodeSegment::Open(options);
}

void FanInDriver::Enter(const EnterNode& enter,
                        absl::StatusOr<std::unique_ptr<NodeSegment>> segment) {
  node_ = enter;
  groups_.clear();
  retired_.clear();
  segment_.reset();
  if (segment.ok()) {
    segment_ = *std::move(segment);
  } else {
    log_line_ = SeparateCallsLine(segment.status().message());
  }
  entered_ = SteadyClock::now();
  missing_logged_ = false;
}

bool FanInDriver::IsReady() {
  if (segment_ == nullptr) return false;
  if (segment_->Ready()) return true;
  if (!missing_logged_ && SteadyClock::now() > entered_ + kMappingGrace) {
    missing_logged_ = true;
    log_line_ = SeparateCallsLine(
        absl::StrCat(segment_->Mapped(), " of ", node_.members, " share memory (", segment_->path(),
                     ")); containers of a node must share /dev/shm and the user"));
  }
  return false;
}

std::string FanInDriver::SeparateCallsLine(absl::string_view why) const {
  return absl::StrCat("job '", node_.job_id, "': ranks of ", NodeNames().Describe(node_.node_id),
                      " each call the coordinator on their own: ", why);
}

std::shared_ptr<FanInDriver::GroupRounds> FanInDriver::Find(const NodeGroup& group) {
  if (!IsReady() || retired_.count(group.name) > 0) return nullptr;
  const auto [entry, is_new] = groups_.try_emplace(group.name);
  if (!is_new) return entry->second;
  if (std::optional<SharedGroup> memory = segment_->FindGroup(group.name)) {
    entry->second =
        std::make_shared<GroupRounds>(segment_, *std::move(memory), group, node_.self, times_);
  }
  return entry->second;
}

// If a round is still in progress, it was left, but its thread has not noticed yet. The
// member then makes its own call.
std::shared_ptr<FanInDriver::GroupRounds> FanInDriver::Begin(const StartFanIn& start) {
  std::shared_ptr<GroupRounds> rounds = Find(*start.group);
  if (rounds == nullptr || rounds->attempt != 0 ||
      !rounds->round.Begin(start.contribution, NanosOf(start.deadline))) {
    return nullptr;
  }
  rounds->attempt = start.contribution.attempt;
  return rounds;
}

void FanInDriver::Leave(uint64_t attempt) {
  for (const auto& [name, rounds] : groups_) {
    if (rounds != nullptr && rounds->attempt == attempt) rounds->slots.Interrupt();
  }
}

// The slots keep their old numbers and stay unused.
void FanInDriver::Retire(const RetireFanInGroup& leave) {
  const auto rounds = groups_.find(leave.name);
  if (rounds == groups_.end()) return;
  if (rounds->second != nullptr) retired_.insert(leave.name);
  groups_.erase(rounds);
}

void FanInDriver::Skip(const SkipFanIn& skip) {
  const std::shared_ptr<GroupRounds> rounds = Find(*skip.group);
  if (rounds != nullptr && rounds->attempt == 0) rounds->slots.Skip(skip.sequence);
}

}  // namespace muster::internal
