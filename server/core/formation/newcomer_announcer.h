#ifndef MUSTER_SERVER_CORE_FORMATION_NEWCOMER_ANNOUNCER_H_
#define MUSTER_SERVER_CORE_FORMATION_NEWCOMER_ANNOUNCER_H_

#include <optional>

#include "server/core/api/effects.h"
#include "server/core/formation/joining.h"
#include "server/core/job/job_context.h"
#include "server/core/job/lifecycle.h"
#include "server/core/job/member_table.h"

namespace muster::core {

// The announcements of newcomers. They tell the running members of an elastic job how many
// newcomers wait for a place, so that the members may choose to re-form.
class NewcomerAnnouncer {
 public:
  NewcomerAnnouncer(JobContext& job, const Lifecycle& life, const Joining& joining)
      : job_(job), life_(life), joining_(joining) {}

  // Tells all members, if the numbers have changed. Does so at most once a second, so that a crowd
  // of newcomers makes one event.
  void Announce();
  Time NextStep() const;
  // Tells a member that has attached again and may have missed the last announcement.
  void Repeat(const Member& member);

 private:
  // Returns the current numbers, if the members were not told them.
  std::optional<NewcomersWaiting> Unannounced() const;

  JobContext& job_;
  const Lifecycle& life_;
  const Joining& joining_;
  NewcomersWaiting announced_;  // the numbers that the epoch's members were told last
  Time next_;                   // the earliest time of the next announcement
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_FORMATION_NEWCOMER_ANNOUNCER_H_
