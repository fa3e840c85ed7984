#ifndef MUSTER_CLIENT_LAUNCHER_COORDINATOR_LINK_H_
#define MUSTER_CLIENT_LAUNCHER_COORDINATOR_LINK_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/launcher/coordinator/client_group.h"
#include "client/launcher/coordinator/inquiry_responder.h"
#include "client/launcher/coordinator/job_watch.h"
#include "client/launcher/coordinator/muster_use_query.h"
#include "client/launcher/coordinator/rank_reporter.h"
#include "client/launcher/outcome/run_outcome.h"
#include "client/launcher/plan/job_plan.h"
#include "client/launcher/process/event_loop.h"
#include "client/launcher/rank_starter.h"
#include "client/launcher/rank_table.h"

namespace muster::launcher {

// All calls of a launcher to its job's coordinator: reports about ranks, questions about the job,
// and answers to inquiries.
//
//   link.Open({on_losses, on_job_failed});  // after all ranks have been started
//   link.ReportEnd(place, end, given_up);   // queued, sent on another thread
//   link.Flush();                           // blocks until the reports are answered
//   link.Close(kClosePatience);             // before the coordinator is stopped
//
// Only Flush() and Close() block. Before Open() and after Close(), all calls do nothing.
class CoordinatorLink {
 public:
  struct Handlers {
    std::function<void()> on_losses;                               // TakeLosses() has new ones
    std::function<void(const std::string& reason)> on_job_failed;  // on another node; called once
  };

  // All pointers must outlive this object.
  CoordinatorLink(const JobPlan* plan, const RankTable* ranks, EventLoop* loop,
                  RankStarter* starter);
  ~CoordinatorLink() { Close(absl::ZeroDuration()); }
  CoordinatorLink(const CoordinatorLink&) = delete;
  CoordinatorLink& operator=(const CoordinatorLink&) = delete;

  // Starts the background threads. Call it after all ranks have been started, because some starters
  // fork without executing a program, and a fork needs a process without threads. Tells the user
  // which parts do not work.
  void Open(Handlers handlers);
  bool open() const { return reporter_ != nullptr; }
  // Closes all connections, since the coordinator would wait for them in its drain. Blocks until
  // they are closed, or `patience` has passed.
  void Close(absl::Duration patience);

  // ---- Ranks ----

  // Reports a new process, if the job has other nodes. While the job forms, the coordinator then
  // knows that this place is filled.
  void ReportStarted(const RankTable::Place& place);
  void ReportStopped(const RankTable::Place& place, bool stopped);
  // If no process will replace the ended one, `given_up` says why, and the other nodes stop
  // waiting.
  void ReportEnd(const RankTable::Place& place, const RankEnd& end, const std::string& given_up);
  // Tells the inquiry thread which ranks live now. Call it after every start and end.
  void PublishRanks();
  // Returns the members that the job has lost, as the coordinator reported them since the last
  // call.
  std::vector<RankReporter::Loss> TakeLosses();
  // Blocks until the coordinator has answered all reports, for at most five seconds.
  void Flush();

  // ---- The job ----

  // Returns how long it may take until all other nodes know that ranks have failed here. Returns
  // zero if there are no other nodes.
  absl::Duration FailureDelay() const;

  // Returns whether the coordinator can be asked. A process that cannot start threads cannot ask.
  bool can_query() const { return open() && reporter_->started().ok(); }
  // Asks whether any process of the job has joined it.
  void QueryMusterUse();
  // Return whether the question is settled, and its answer: see MusterUseQuery.
  bool muster_use_known() const {
    return muster_use_query_ != nullptr && muster_use_query_->done();
  }
  std::optional<bool> uses_muster() const {
    return muster_use_query_ == nullptr ? std::nullopt : muster_use_query_->answer();
  }

  // ---- Hangs ----

  // Returns whether a bundle about a hang is being written to the plan's debug_dir.
  bool writing_bundle() const { return responder_ != nullptr && responder_->writing(); }
  // Prints the messages of the inquiry thread to the user.
  void PrintMessages();

 private:
  void OpenWatch(std::function<void(const std::string& reason)> on_job_failed);

  const JobPlan& plan_;
  const RankTable& ranks_;
  EventLoop* const loop_;
  RankStarter* const starter_;
  const std::shared_ptr<ClientGroup> clients_ = std::make_shared<ClientGroup>();
  // All three are null until Open(). `watch_` stays null if the job has no other nodes.
  std::unique_ptr<RankReporter> reporter_;
  std::unique_ptr<JobWatch> watch_;
  std::unique_ptr<InquiryResponder> responder_;
  std::unique_ptr<MusterUseQuery> muster_use_query_;  // the latest question
  bool gave_up_ = false;  // the coordinator was told that the ranks here will not join
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_COORDINATOR_LINK_H_
