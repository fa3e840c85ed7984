#ifndef MUSTER_SERVER_CORE_DIAGNOSIS_INQUIRY_TRACKER_H_
#define MUSTER_SERVER_CORE_DIAGNOSIS_INQUIRY_TRACKER_H_

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
#include "server/core/api/job_status.h"
#include "server/core/api/observation.h"
#include "server/core/diagnosis/inquiry_members.h"
#include "server/core/diagnosis/verdict.h"

namespace muster::core {

// The latest inquiry of the launchers, the launchers themselves, and the calls that wait for an
// inquiry. In an inquiry, each launcher looks at its ranks and reports what it sees. The memory is
// bounded: one inquiry is kept, until the next one begins.
class InquiryTracker {
 public:
  using SharedReport = std::shared_ptr<const LauncherReport>;

  // A launcher or another caller that waits for an inquiry with a number above `after`.
  struct Watcher {
    uint64_t after = 0;
    Time until;
    std::string launcher;  // the launcher's id; empty for other callers
    bool reports = false;  // whether the answer includes the reports
  };
  // A call that must be answered now.
  struct Ended {
    WaiterId call = 0;
    bool reports = false;
  };

  explicit InquiryTracker(size_t max_waiters) : max_waiters_(max_waiters) {}

  // Returns the number of the latest inquiry, or 0 if there was none.
  uint64_t number() const { return number_; }
  bool has_launchers() const { return !launchers_.empty(); }
  // Returns the number of processes that launchers have shown to be theirs. Counts launchers that
  // wait in a call or did so until just now.
  size_t Processes(Time now) const;
  // Returns whether an inquiry may begin. None may while another is open. While the job stays in
  // one state, the coordinator begins at most one a minute on its own. At a request, or in another
  // state, one may begin every two seconds.
  bool MayBegin(Time now, JobState state) const;
  bool MayBeginAtRequest(Time now) const;
  // Begins an inquiry. The verdict will be about `job`.
  void Begin(Time now, std::string reason, bool requested, JobStatus job);
  // Returns whether the verdict is due: all launchers have reported, or their time is over.
  bool Due(Time now) const { return open_ && (now >= closes_ || AllHaveReported()); }
  // Closes the inquiry, and returns the verdict.
  const Verdict& Close(Time now);

  // Takes a launcher's report. Returns RESOURCE_EXHAUSTED or FAILED_PRECONDITION, and keeps
  // nothing, if it cannot be taken.
  absl::Status Take(Time now, uint64_t number, LauncherReport report);

  // Watch() parks a call until an inquiry begins or its time is over. It supersedes an earlier call
  // of the same launcher, and returns that call's id, or 0. CheckRoom() says whether there is room
  // for it.
  absl::Status CheckRoom() const;
  WaiterId Watch(WaiterId id, Watcher watcher, const LauncherIdentity& launcher);
  // Returns whether a call that waits for a number above `after` can be answered at once.
  bool HasNewer(uint64_t after) const { return number_ > after; }
  // Forgets a parked call. Returns false if it is not parked here.
  bool Forget(Time now, WaiterId id);
  // Each of these returns calls to be answered, and forgets them: calls whose time is over, calls
  // whose inquiry has begun, or all calls. After End(), nothing is due any more.
  std::vector<Ended> TakeExpired(Time now);
  std::vector<Ended> TakeAnswered(Time now);
  std::vector<WaiterId> End();

  // Returns when a verdict, or the answer to a call, is due.
  Time NextDeadline() const {
    return by_deadline_.empty() ? closes_ : std::min(closes_, by_deadline_.begin()->first);
  }

  InquiryStatus Status(Time now) const;
  // Returns the reports, sorted by node.
  std::vector<SharedReport> Reports() const;
  // Returns the launcher's report, or null.
  SharedReport ReportOf(const std::string& launcher) const;

 private:
  struct Launcher {
    LauncherIdentity identity;
    WaiterId call = 0;  // the call it waits in; 0: none
    Time gone;          // since when it waits in no call
  };

  bool Awaits(const LauncherIdentity& launcher) const;
  bool AllHaveReported() const;
  std::vector<std::string> Awaited() const;
  uint64_t NextNumber(Time now) const;
  std::vector<LauncherView> Views() const;
  void ForgetLaunchersGoneBefore(Time time);
  // Forgets the launcher that has been gone for the longest time, if there are as many as are
  // allowed.
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
  JobState state_ = JobState::kForming;  // the job's state when the inquiry began
  JobStatus job_;                        // the job's status then; empty once there is a verdict
  Verdict verdict_;
  InquiryMembers members_;                       // the job's members then
  std::map<std::string, SharedReport> reports_;  // by the launcher's id
  size_t held_bytes_ = 0;                        // of the reports

  std::map<std::string, Launcher> launchers_;  // by id
  std::map<WaiterId, Watcher> watchers_;
  std::set<std::pair<Time, WaiterId>> by_deadline_;
};

// Check what a launcher sends. INVALID_ARGUMENT names the field that is wrong.
absl::Status CheckReportContent(const LauncherReport& report);
absl::Status CheckLauncher(const LauncherIdentity& launcher);

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_DIAGNOSIS_INQUIRY_TRACKER_H_
