#include "server/core/formation/newcomer_announcer.h"

#include <algorithm>

#include "absl/time/time.h"

namespace muster::core {
namespace {

// The shortest time between two announcements to all members.
constexpr absl::Duration kAnnouncementInterval = absl::Seconds(1);

}  // namespace

std::optional<NewcomersWaiting> NewcomerAnnouncer::Unannounced() const {
  if (!job_.elastic() || life_.ReportedState() != JobState::kRunning) return std::nullopt;
  const uint32_t places = joining_.Places();
  const NewcomersWaiting news{life_.epoch()->id(), static_cast<uint32_t>(joining_.places().size()),
                              places - std::min(places, joining_.WorldSize())};
  const bool none_before = !(announced_.epoch == news.epoch);
  if (none_before && news.waiting == 0) return std::nullopt;
  const bool same =
      announced_.waiting == news.waiting && announced_.free_places == news.free_places;
  return !none_before && same ? std::nullopt : std::optional(news);
}

// Returns when to announce the untold numbers. That is never in the past, because the step that set
// `now` has announced what was due.
Time NewcomerAnnouncer::NextStep() const { return Unannounced() ? next_ : absl::InfiniteFuture(); }

void NewcomerAnnouncer::Announce() {
  const std::optional<NewcomersWaiting> news = Unannounced();
  if (!news || job_.now < next_) return;
  announced_ = *news;
  next_ = job_.now + kAnnouncementInterval;
  const SharedEvent event = job_.out.Share(*news);
  for (const Member* member : life_.epoch()->members()) job_.Send(*member, event);
}

void NewcomerAnnouncer::Repeat(const Member& member) {
  const Epoch* epoch = life_.epoch();
  const bool concerns = member.rank() && epoch != nullptr && announced_.epoch == epoch->id();
  if (announced_.waiting > 0 && concerns) job_.Send(member, job_.out.Share(announced_));
}

}  // namespace muster::core
