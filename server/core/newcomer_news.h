#ifndef MUSTER_SERVER_CORE_NEWCOMER_NEWS_H_
#define MUSTER_SERVER_CORE_NEWCOMER_NEWS_H_

#include <optional>

#include "server/core/effects.h"
#include "server/core/job_context.h"
#include "server/core/joining.h"
#include "server/core/lifecycle.h"
#include "server/core/member_table.h"

namespace muster::core {

// Tells the running members of an elastic job how many newcomers wait for a place, so that they may
// choose to re-form.
class NewcomerNews {
 public:
  NewcomerNews(JobContext& job, const Lifecycle& life, const Joining& joining)
      : job_(job), life_(life), joining_(joining) {}

  // Tells all members, if the numbers have changed: once a second at most, so that a crowd of
  // newcomers makes one event.
  void Announce();
  Time NextStep() const;
  // Tells a member that has attached again, and may have missed the news.
  void Repeat(const Member& member);

 private:
  // Returns the numbers of now, if the members have not been told them.
  std::optional<NewcomersWaiting> Untold() const;

  JobContext& job_;
  const Lifecycle& life_;
  const Joining& joining_;
  NewcomersWaiting announced_;  // what the epoch's members were last told
  Time next_;                   // they are told again at this time at the earliest
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_NEWCOMER_NEWS_H_
