#ifndef MUSTER_SERVER_CORE_INQUIRY_H_
#define MUSTER_SERVER_CORE_INQUIRY_H_

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/inquiry_members.h"
#include "server/core/job_status.h"
#include "server/core/observation.h"
#include "server/core/verdict.h"

namespace muster::core {

// The latest look of the launchers at their ranks, and who the launchers are. What is kept is
// bounded: of one inquiry, until the next one begins.
class Inquiries {
 public:
  using SharedReport = std::shared_ptr<const LauncherReport>;

  // A launcher, or whoever else waits for an inquiry after that number.
  struct Watcher {
    uint64_t after = 0;
    Time until;
    std::string launcher;  // its id; empty: it is none
    bool reports = false;  // are wanted
  };
  // A call that is to be answered.
  struct Ended {
    WaiterId call = 0;
    bool reports = false;
  };

  explicit Inquiries(size_t max_waiters) : max_waiters_(max_waiters) {}

  // 0: there was none.
  uint64_t number() const { return number_; }
  bool has_launchers() const { return !launchers_.empty(); }
  // That launchers have shown to be theirs, of those that have been heard of just now.
  size_t Processes(Time now) const;
  // By itself the coordinator begins one a minute at most in the same state of the job; at request,
  // or in another state, one in two seconds; none while one is open.
  bool MayBegin(Time now, JobState state) const;
  bool MayBeginAtRequest(Time now) const;
  // `job` is what the verdict will be about.
  void Begin(Time now, std::string reason, bool requested, JobStatus job);
  // Whether the verdict is due: all launchers have reported, or were given enough time for it.
  bool Due(Time now) const { return open_ && (now >= closes_ || AllHaveReported()); }
  // Makes the verdict.
  const Verdict& Close(Time now);

  // RESOURCE_EXHAUSTED or FAILED_PRECONDITION, and nothing is kept.
  absl::Status Take(Time now, uint64_t number, LauncherReport report);

  // Parks a call until there is something to tell, or its time is over. A launcher's earlier call
  // is superseded: returns its id, or 0.
  absl::Status CheckRoom() const;
  WaiterId Watch(WaiterId id, Watcher watcher, const LauncherIdentity& launcher);
  // Whether a call that waits for one after `after` would be answered at once.
  bool News(uint64_t after) const { return number_ > after; }
  // Forgets a parked call; false if it is none.
  bool Forget(Time now, WaiterId id);
  // The calls to be answered, which are forgotten: those whose time is over, those that wait for
  // the inquiry that has begun; and all, after which nothing is due any more.
  std::vector<Ended> TakeExpired(Time now);
  std::vector<Ended> TakeAnswered(Time now);
  std::vector<WaiterId> End();

  // When something of the above is due.
  Time NextDeadline() const {
    return by_deadline_.empty() ? closes_ : std::min(closes_, by_deadline_.begin()->first);
  }

  InquiryStatus Status(Time now) const;
  // In the order of their nodes.
  std::vector<SharedReport> Reports() const;
  // Null where there is none.
  SharedReport ReportOf(const std::string& launcher) const;

 private:
  struct Launcher {
    LauncherIdentity identity;
    WaiterId call = 0;  // that it waits in; 0: none
    Time gone;          // since when it waits in none
  };

  bool Awaits(const LauncherIdentity& launcher) const;
  bool AllHaveReported() const;
  std::vector<std::string> Awaited() const;
  uint64_t NextNumber(Time now) const;
  std::vector<LauncherView> Views() const;
  void ForgetLaunchersGoneBefore(Time time);
  // Forgets the one that has been gone for the longest time, where there are as many as may be.
  void MakeRoomForLauncher();
  absl::Status CheckAmounts(const LauncherReport& report) const;
  absl::StatusOr<std::vector<Incarnation>> Admit(LauncherReport* report) const;

  size_t max_waiters_;
  uint64_t number_ = 0;
  std::string reason_;
  bool requested_ = false;
  bool open_ = false;
  Time began_;
  Time closes_ = absl::InfiniteFuture();
  JobState state_ = JobState::kForming;  // of the job, then
  JobStatus job_;                        // then; empty once there is a verdict
  Verdict verdict_;
  InquiryMembers members_;                       // then
  std::map<std::string, SharedReport> reports_;  // by the launcher's id
  size_t held_bytes_ = 0;                        // of them

  std::map<std::string, Launcher> launchers_;  // by id
  std::map<WaiterId, Watcher> watchers_;
  std::set<std::pair<Time, WaiterId>> by_deadline_;
};

// What a launcher sends must be like: INVALID_ARGUMENT names what is not.
absl::Status CheckReportContent(const LauncherReport& report);
absl::Status CheckLauncher(const LauncherIdentity& launcher);

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_INQUIRY_H_
