#include "client/src/group/numbered_group.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/src/group/group_access.h"
#include "client/src/group/group_state.h"
#include "common/names/operation_names.h"
#include "common/text/fnv1a.h"
#include "muster/codec.h"

namespace muster::internal {
namespace {

// Returns "readers (use 2)". If that would be too long, a digest replaces the group's name.
std::string NameOf(const GroupState& of, uint64_t number) {
  std::string name = InternalGroupName(of.name, number);
  if (name.size() <= of.control->max_name_bytes()) return name;
  return InternalGroupName(absl::StrCat(absl::Hex(Fnv1a64(of.name))), number);
}

Group MakeGroup(const GroupState& of, uint64_t number) {
  auto state = std::make_shared<GroupState>();
  state->control = of.control;
  state->name = NameOf(of, number);
  state->ranks = of.ranks;
  state->rank = of.rank;
  state->block_preventions = of.block_preventions;
  state->Hold();
  return Group(std::move(state));
}

}  // namespace

uint64_t NumberedGroup::NextNumber(const Group& of) { return GroupAccess::State(of)->next_number; }

NumberedGroup::NumberedGroup(const Group& of, uint64_t number)
    : of_(GroupAccess::State(of)), number_(number), group_(MakeGroup(*of_, number)) {
  of_->next_number = number;
}

NumberedGroup::NumberedGroup(NumberedGroup&&) noexcept = default;

NumberedGroup::~NumberedGroup() {
  if (of_ != nullptr) of_->next_number = number_ + 1;
}

void NumberedGroup::Keep() { of_ = nullptr; }

absl::StatusOr<NumberedGroup> AgreeOnNumberedGroup(const Group& group, absl::string_view call,
                                                   const CallOptions& options, CallSite site) {
  const absl::StatusOr<std::vector<std::string>> numbers = group.AllGatherBytes(
      Encode(NumberedGroup::NextNumber(group)), CallTypeName(call), options, site);
  if (!numbers.ok()) return numbers.status();
  uint64_t highest = 0;
  for (const std::string& bytes : *numbers) {
    const absl::StatusOr<uint64_t> number = Decode<uint64_t>(bytes);
    if (!number.ok()) return number.status();
    highest = std::max(highest, *number);
  }
  return NumberedGroup(group, highest);
}

}  // namespace muster::internal
