#include "server/core/job/parked_calls.h"

#include <algorithm>

namespace muster::core {

const ParkedCall* ParkedCalls::Find(WaiterId id) const {
  const auto it = calls_.find(id);
  return it == calls_.end() ? nullptr : &it->second.call;
}

std::vector<WaiterId> ParkedCalls::All() const {
  std::vector<WaiterId> all;
  all.reserve(calls_.size());
  for (const auto& [id, entry] : calls_) all.push_back(id);
  std::sort(all.begin(), all.end());
  return all;
}

void ParkedCalls::Park(WaiterId id, ParkedCall call) {
  Member::ParkedIds& of_member = call.member->parked_;
  of_member.all.push_back(id);
  if (std::holds_alternative<WaitForPlace>(call.wait)) of_member.join = id;
  if (std::holds_alternative<WaitForLeavers>(call.wait)) of_member.leave = id;
  const auto deadline = deadlines_.emplace_hint(deadlines_.end(), call.since + call.timeout, id);
  calls_.emplace(id, Entry{std::move(call), deadline});
}

std::optional<ParkedCall> ParkedCalls::Take(WaiterId id) {
  const auto it = calls_.find(id);
  if (it == calls_.end()) return std::nullopt;
  if (it->second.deadline) deadlines_.erase(*it->second.deadline);
  std::optional<ParkedCall> call = std::move(it->second.call);
  calls_.erase(it);
  Member::ParkedIds& of_member = call->member->parked_;
  of_member.all.erase(std::find(of_member.all.begin(), of_member.all.end(), id));
  if (of_member.join == id) of_member.join = 0;
  if (of_member.leave == id) of_member.leave = 0;
  return call;
}

std::optional<WaiterId> ParkedCalls::PopExpired(Time now) {
  if (NextDeadline() > now) return std::nullopt;
  const WaiterId id = deadlines_.begin()->second;
  deadlines_.erase(deadlines_.begin());
  calls_.at(id).deadline.reset();
  return id;
}

std::vector<WaiterId> ParkedCalls::CallsOf(const Member& member) const {
  return {member.parked_.all.begin(), member.parked_.all.end()};
}

}  // namespace muster::core
