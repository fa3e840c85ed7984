#ifndef MUSTER_CLIENT_LAUNCHER_COORDINATOR_LINK_H_
#define MUSTER_CLIENT_LAUNCHER_COORDINATOR_LINK_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/launcher/client_group.h"
#include "client/launcher/event_loop.h"
#include "client/launcher/inquiry_responder.h"
#include "client/launcher/job_plan.h"
#include "client/launcher/job_watch.h"
#include "client/launcher/muster_use.h"
#include "client/launcher/rank_reporter.h"
#include "client/launcher/rank_starter.h"
#include "client/launcher/rank_table.h"
#include "client/launcher/run_outcome.h"

namespace muster::launcher {

// What a launcher tells the coordinator of its ranks, what it asks, and what it hears. No call
// waits for the coordinator, unless it says so; none does anything before Open() or after HangUp().
class CoordinatorLink {
 public:
  struct Handlers {
    std::function<void()> on_losses;                               // TakeLosses() returns some
    std::function<void(const std::string& reason)> on_job_failed;  // on another node; called once
  };

  // All pointers must outlive this object.
  CoordinatorLink(const JobPlan* plan, const RankTable* ranks, EventLoop* loop,
                  RankStarter* starter);
  ~CoordinatorLink() { HangUp(absl::ZeroDuration()); }
  CoordinatorLink(const CoordinatorLink&) = delete;
  CoordinatorLink& operator=(const CoordinatorLink&) = delete;

  // Begins to talk, on threads: call it once all ranks were started, of which some starters fork
  // without executing a program. Tells the user what does not work.
  void Open(Handlers handlers);
  bool open() const { return reporter_ != nullptr; }
  // Closes all connections, for which the coordinator would wait in its drain. Blocks until they
  // are closed, or `patience` has passed.
  void HangUp(absl::Duration patience);

  // ---- Of the ranks ----

  // A process was started here, and the coordinator may count on it.
  void ReportStarted(const RankTable::Place& place);
  void ReportStopped(const RankTable::Place& place, bool stopped);
  // `given_up` is not empty where nobody is started in its place: why, for the nodes that wait.
  void ReportEnd(const RankTable::Place& place, const RankEnd& end, const std::string& given_up);
  // The ranks that live have changed.
  void ShowRanks();
  // How the coordinator takes the ends of ranks: what is new.
  std::vector<RankReporter::Loss> TakeLosses();
  // Blocks until it has taken all of them, for some seconds at most.
  void Flush();

  // ---- Of the job ----

  // How long it may take until all other nodes know that ranks have failed here; zero where there
  // are none.
  absl::Duration FailureDelay() const;

  // Whether the coordinator can be asked anything: not by a process that gets no threads.
  bool can_ask() const { return open() && reporter_->started().ok(); }
  // Asks whether a process of the job has joined it.
  void AskMusterUse();
  // The answer is there, or will not come; and the answer, as MusterUse has it.
  bool muster_use_known() const { return use_ != nullptr && use_->done(); }
  std::optional<bool> uses_muster() const {
    return use_ == nullptr ? std::nullopt : use_->answer();
  }

  // ---- Of hangs ----

  // What was found of one is on its way into the plan's folder.
  bool writing_bundle() const { return responder_ != nullptr && responder_->writing(); }
  // Tells the user what the look into hangs has to say.
  void TellNews();

 private:
  void OpenWatch(std::function<void(const std::string& reason)> on_job_failed);

  const JobPlan& plan_;
  const RankTable& ranks_;
  EventLoop* const loop_;
  RankStarter* const starter_;
  const std::shared_ptr<ClientGroup> clients_ = std::make_shared<ClientGroup>();
  // All three null unless open; `watch_` also where the job has no other nodes.
  std::unique_ptr<RankReporter> reporter_;
  std::unique_ptr<JobWatch> watch_;
  std::unique_ptr<InquiryResponder> responder_;
  std::unique_ptr<MusterUse> use_;  // the latest question
  bool gave_up_ = false;            // the coordinator was told that the ranks here will not join
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_COORDINATOR_LINK_H_
