#include "server/core/parked_calls.h"

namespace muster::core {

const ParkedCall* ParkedCalls::Find(WaiterId id) const {
  const auto it = calls_.find(id);
  return it == calls_.end() ? nullptr : &it->second;
}

void ParkedCalls::Park(WaiterId id, ParkedCall call) {
  OfMember& of_member = by_member_[call.member];
  of_member.all.insert(id);
  if (std::holds_alternative<ForPlace>(call.wait)) of_member.join = id;
  if (std::holds_alternative<ForLeavers>(call.wait)) of_member.leave = id;
  deadlines_.Set(id, call.since + call.timeout);
  calls_[id] = std::move(call);
}

std::optional<ParkedCall> ParkedCalls::Take(WaiterId id) {
  auto entry = calls_.extract(id);
  if (entry.empty()) return std::nullopt;
  deadlines_.Clear(id);
  const auto it = by_member_.find(entry.mapped().member);
  OfMember& of_member = it->second;
  of_member.all.erase(id);
  if (of_member.join == id) of_member.join = 0;
  if (of_member.leave == id) of_member.leave = 0;
  if (of_member.all.empty()) by_member_.erase(it);
  return std::move(entry.mapped());
}

const ParkedCalls::OfMember* ParkedCalls::FindOf(const Member& member) const {
  const auto it = by_member_.find(&member);
  return it == by_member_.end() ? nullptr : &it->second;
}

std::vector<WaiterId> ParkedCalls::Of(const Member& member) const {
  const OfMember* of_member = FindOf(member);
  if (of_member == nullptr) return {};
  return {of_member->all.begin(), of_member->all.end()};
}

size_t ParkedCalls::CountOf(const Member& member) const {
  const OfMember* of_member = FindOf(member);
  return of_member == nullptr ? 0 : of_member->all.size();
}

WaiterId ParkedCalls::JoinOf(const Member& member) const {
  const OfMember* of_member = FindOf(member);
  return of_member == nullptr ? 0 : of_member->join;
}

WaiterId ParkedCalls::LeaveOf(const Member& member) const {
  const OfMember* of_member = FindOf(member);
  return of_member == nullptr ? 0 : of_member->leave;
}

}  // namespace muster::core
