#include "server/core/job/member_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/api/describe.h"

namespace muster::core {
namespace {

template <class Map, class Key>
Member* FindIn(const Map& map, const Key& key) {
  const auto it = map.find(key);
  return it == map.end() ? nullptr : &*it->second;
}

}  // namespace

std::string Member::Describe() const { return DescribeMember(rank_, identity, *names_); }

std::string Member::DescribeActivity(Time now) const {
  std::string text = activity.Describe(now);
  if (!parked_.all.empty()) return text;
  const std::optional<store::Store::Wait> wait = store_->WaitOf(incarnation());
  if (!wait) return text;
  return absl::StrCat(DescribeStoreWait(wait->missing, now - wait->since), ", ", text);
}

Member* MemberTable::Find(const Incarnation& incarnation) const {
  return FindIn(members_, incarnation);
}

Member* MemberTable::FindBySession(uint64_t counter) const { return FindIn(sessions_, counter); }

Member* MemberTable::FindByStream(WaiterId stream) const { return FindIn(streams_, stream); }

Member* MemberTable::Add(const MemberIdentity& identity, Time now) {
  node_names_.Add(identity.node_id);
  auto member = std::make_unique<Member>(identity, ++arrivals_, &node_names_, &store_, now);
  return members_.emplace(identity.incarnation, std::move(member)).first->second.get();
}

void MemberTable::Remove(Member* member) {
  if (member->attached()) CloseStream(member);
  sessions_.erase(member->session_.counter);
  graces_.Clear(member->incarnation());
  Count(*member, -1);
  node_names_.Remove(member->identity.node_id);
  members_.erase(Incarnation(member->incarnation()));
}

void MemberTable::StartSession(Member* member, const SessionId& session, WaiterId stream) {
  graces_.Clear(member->incarnation());
  sessions_[session.counter] = member;
  streams_[stream] = member;
  Update(member, [&](Member* m) {
    m->session_ = session;
    m->stream_ = stream;
  });
}

void MemberTable::EndSession(Member* member) {
  sessions_.erase(member->session_.counter);
  if (member->attached()) CloseStream(member);
}

void MemberTable::CloseStream(Member* member) {
  streams_.erase(member->stream_);
  Update(member, [](Member* m) { m->stream_ = 0; });
}

std::vector<WaiterId> MemberTable::Streams() const {
  std::vector<WaiterId> streams;
  streams.reserve(streams_.size());
  for (const auto& [stream, member] : streams_) streams.push_back(stream);
  std::sort(streams.begin(), streams.end());
  return streams;
}

void MemberTable::StartGrace(const Member& member, Time until) {
  graces_.Set(member.incarnation(), until);
}

std::vector<Member*> MemberTable::TakeExpiredGraces(Time now) {
  std::vector<Member*> expired;
  while (std::optional<Incarnation> incarnation = graces_.Pop(now)) {
    expired.push_back(Find(*incarnation));
  }
  return expired;
}

void MemberTable::SetRank(Member* member, uint32_t rank) {
  Update(member, [&](Member* m) { m->rank_ = rank; });
}

void MemberTable::StartLeaving(Member* member) {
  Update(member, [](Member* m) { m->leaving_ = true; });
}

void MemberTable::MarkLeft(Member* member) {
  graces_.Clear(member->incarnation());
  Update(member, [](Member* m) { m->left_ = true; });
}

void MemberTable::MarkLost(Member* member, Failure failure) {
  graces_.Clear(member->incarnation());
  Update(member, [&](Member* m) { m->lost_ = std::move(failure); });
}

void MemberTable::NoteExit(Member* member, const ExitReport& report) {
  Update(member, [&](Member* m) { m->exit_ = report; });
}

void MemberTable::SetSeeks(Member* member, bool seeks) {
  Update(member, [&](Member* m) { m->seeks_ = seeks; });
}

void MemberTable::LeaveEpoch(Member* member) {
  Update(member, [](Member* m) {
    m->rank_.reset();
    m->lost_.reset();
    m->exit_.reset();
    m->leaving_ = m->left_ = false;
    m->sends_for_node = false;
  });
}

MemberTable::Counts MemberTable::Recount() const {
  Counts counts;
  for (const auto& [incarnation, member] : members_) Count(*member, +1, &counts);
  return counts;
}

void MemberTable::Count(const Member& member, int by, Counts* counts) {
  const auto count = [by](bool is, size_t* total) {
    if (is) *total += by;
  };
  const bool waits = member.attached() && member.seeks();
  if (!member.rank()) return count(waits, &counts->newcomers);
  count(member.attached(), &counts->attached);
  count(!member.attached() && !member.left(), &counts->detached);
  count(!member.accounted_for(), &counts->unaccounted);
  count(!member.leaving() && !member.gone(), &counts->staying);
  count(member.leaving(), &counts->leaving);
  count(member.gone(), &counts->gone);
  count(waits, &counts->rejoined);
  count(!waits && !member.gone(), &counts->awaited);
}

}  // namespace muster::core
