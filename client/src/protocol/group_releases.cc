#include "client/src/protocol/group_releases.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/protocol/messages/messages.h"

namespace muster::internal {
namespace {

// How much news makes a batch, and how long news waits for more. Without batches, a program that
// names a group in each step would send two more messages per step.
constexpr size_t kNewsTogether = 8;
constexpr absl::Duration kNewsDelay = absl::Milliseconds(500);
// The coordinator's limit.
constexpr int kMostNews = 1024;

}  // namespace

GroupReleases::GroupReleases(const SessionState& session, const Lifecycle& lifecycle,
                             Membership* membership, PendingCalls* calls, Outbox* outbox)
    : session_(session),
      lifecycle_(lifecycle),
      membership_(*membership),
      calls_(*calls),
      outbox_(*outbox) {}

void GroupReleases::Drop(SteadyTime now, const GroupId& group) {
  MemberGroup* const dropped = membership_.Drop(group);
  if (dropped != nullptr && !dropped->release.closed()) NoteNews(now, dropped);
}

void GroupReleases::NoteNews(SteadyTime now, MemberGroup* group) {
  group->release.NoteNews(++latest_news_);
  TellBy(++untold_news_ < kNewsTogether ? After(now, kNewsDelay) : now);
}

void GroupReleases::TellBy(SteadyTime when) {
  tell_at_ = std::min(tell_at_.value_or(SteadyTime::max()), when);
}

void GroupReleases::Reset() {
  tell_at_.reset();
  unknown_closed_.clear();
}

void GroupReleases::NoteClaimed() {
  for (const auto& [key, group] : membership_.groups()) group->release.Claimed();
  untold_news_ = 0;
  Reset();
}

bool GroupReleases::CanTell() const {
  return telling_ == 0 && session_.session() && lifecycle_.is_well();
}

SteadyTime GroupReleases::NextDeadline() const {
  return CanTell() ? tell_at_.value_or(SteadyTime::max()) : SteadyTime::max();
}

bool GroupReleases::HasNews() const {
  const auto& groups = membership_.groups();
  return !unknown_closed_.empty() ||
         std::any_of(groups.begin(), groups.end(),
                     [](const auto& entry) { return entry.second->release.news() != 0; });
}

bool GroupReleases::Tell(SteadyTime now) {
  if (!tell_at_ || now < *tell_at_ || !CanTell()) return false;
  tell_at_.reset();
  untold_news_ = 0;
  if (!HasNews()) return false;  // the program has taken the groups back since
  PendingCall call = calls_.NewInBackground(now, "telling which groups are let go");
  call.epoch = EpochOf(membership_.place()->epoch());
  call.only_in = session_.session();
  const auto told = std::make_shared<Told>();
  call.request = [this, told](SteadyTime) { return MakeNews(told.get()); };
  call.on_end = [this, told](const PendingCall& ended, auto* reply) {
    FinishTelling(*told, ended, *reply);
  };
  telling_ = calls_.BeginInBackground(std::move(call));
  return true;
}

// Collects the news anew for each send, because groups may have changed since the send before.
Request GroupReleases::MakeNews(Told* told) const {
  *told = Told();
  Request request = MakeRelease(EpochOf(membership_.place()->epoch()));
  auto& news = std::get<v1::ReleaseGroupsRequest>(request);
  const auto is_full = [&news] { return news.released_size() + news.closed_size() >= kMostNews; };
  for (const std::string& digest : unknown_closed_) {
    if (is_full()) break;
    news.add_closed(digest);
    told->unknown.push_back(digest);
  }
  for (const auto& [key, group] : membership_.groups()) {
    if (group->release.news() == 0 || is_full()) continue;
    told->groups.emplace_back(group->digest, group->release.news());
    if (group->release.closed()) {
      news.add_closed(group->digest);
      continue;
    }
    v1::ReleasedGroup* const released = news.add_released();
    released->set_digest(group->digest);
    released->set_next_sequence(group->sequence.number());
  }
  return request;
}

void GroupReleases::FinishTelling(const Told& told, const PendingCall& call,
                                  const absl::StatusOr<Response>& reply) {
  telling_ = 0;
  if (!call.answered) return;  // the next claim tells it
  for (const std::string& digest : told.unknown) unknown_closed_.erase(digest);
  std::set<std::string> unchanged;
  for (const auto& [digest, news] : told.groups) {
    MemberGroup* const group = membership_.FindDigest(digest);
    if (group == nullptr || group->release.news() != news) continue;
    group->release.Told();
    unchanged.insert(digest);
  }
  if (reply.ok()) {
    for (const std::string& digest : std::get<v1::ReleaseGroupsResponse>(*reply).settled()) {
      if (unchanged.count(digest) > 0) TakeSettled(membership_.FindDigest(digest));
    }
  }
  if (HasNews()) TellBy(After(call.ended, kNewsDelay));
}

void GroupReleases::TakeClosings(SteadyTime now, const v1::GroupsClosed& closings) {
  if (!membership_.IsIn(EpochOf(closings.epoch()))) return;
  for (const std::string& digest : closings.closed()) TakeClosed(now, digest);
  for (const std::string& digest : closings.settled()) {
    MemberGroup* const group = membership_.FindDigest(digest);
    if (group != nullptr && group->release.MaySettle()) TakeSettled(group);
  }
}

void GroupReleases::TakeClosed(SteadyTime now, const std::string& digest) {
  MemberGroup* const group = membership_.FindDigest(digest);
  if (group == nullptr) {
    unknown_closed_.insert(digest);
    return TellBy(After(now, kNewsDelay));
  }
  if (group->release.Close()) Restart(group);
  NoteNews(now, group);
}

void GroupReleases::Restart(MemberGroup* group) {
  calls_.Drop(group->arrivals.EndTakingBack());
  calls_.RestartCallsOf(*group);
  if (group->at_node != nullptr) outbox_.Add(LeaveNodeGroup{group->at_node->name});
  group->Restart();
}

// If a call has waited for this, it becomes the group's first one.
void GroupReleases::TakeSettled(MemberGroup* group) {
  group->release.Settle();
  if (!calls_.IsCalled(*group)) membership_.ForgetGroup(*group);
}

absl::string_view GroupReleases::HeldUpBy(SteadyTime now, const MemberGroup& group) {
  const bool may_call =
      group.is_world() || !(group.release.closed() || membership_.IsNameInUse(group));
  if (may_call) return "";
  if (tell_at_) TellBy(now);
  return "this process has let an earlier group of this name go, which begins anew when the other "
         "ranks have let it go too, and have heard that all have";
}

}  // namespace muster::internal
