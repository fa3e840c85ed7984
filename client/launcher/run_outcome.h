#ifndef MUSTER_CLIENT_LAUNCHER_RUN_OUTCOME_H_
#define MUSTER_CLIENT_LAUNCHER_RUN_OUTCOME_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "client/launcher/process_end.h"

namespace muster::launcher {

// How one rank of this launcher ended.
struct RankEnd {
  int rank = 0;
  pid_t pid = 0;
  ProcessEnd end;
  bool after_our_signal = false;  // the launcher had signalled it before
  bool forgiven = false;          // another was started in its place, or the job goes on without it
  bool without_leave = false;     // it ended with status 0 in the middle of the job
  std::string loss = {};          // how the coordinator tells of it, where it does

  // It has done its part.
  bool well() const { return end.clean() && !without_leave; }
};

// "rank 2 was killed by signal 9 (SIGKILL)".
std::string HowItEnded(const RankEnd& end);

// The rank says that it had to end because of others.
bool SaysHealthy(const ProcessEnd& end);

// Collects how the ranks ended, in the order in which they did, and says what became of the run.
class RunOutcome {
 public:
  // `node` is how messages call this node.
  RunOutcome(std::string job, std::string node) : job_(std::move(job)), node_(std::move(node)) {}

  void Add(const RankEnd& end) { ends_.push_back(end); }
  // The end of the process that had this pid; null if none was added.
  RankEnd* Find(pid_t pid);
  // Removes the ends of ranks that ended well: new processes have replaced those ranks.
  void ForgetCleanEnds();
  // The user's signal that ended the run.
  void Interrupted(int signal);
  // The launcher's own coordinator has ended before the ranks.
  void CoordinatorLost(const ProcessEnd& end) { coordinator_ = end; }

  // The job has failed on another node, with this reason.
  void FailedElsewhere(std::string reason) { elsewhere_ = std::move(reason); }
  // That reason; empty unless so.
  const std::string& elsewhere() const { return elsewhere_; }
  // Ranks that this user may not signal were left running.
  void LeftRunning(std::vector<int> ranks) { left_running_ = std::move(ranks); }
  // Nobody reads what the run writes: like a program that gets SIGPIPE, it ends.
  void ReaderGone() { reader_gone_ = true; }

  int clean_ends() const;

  // The launcher's exit status (docs/exit-codes.md): 0 if every rank ended well or is forgiven,
  // else that of the guilty rank, the first that failed by itself and does not say that it is
  // healthy; 128 + SIGPIPE if the output lost its reader; 76 if the coordinator was lost, 75 if the
  // job failed elsewhere; 1 if a rank could not be ended; else that of the first rank that says it
  // is healthy, or did not end well under the launcher's signals.
  int ExitStatus() const;

  // One line about what went wrong, though it may have been mended; empty if nothing did.
  std::string Summary() const;

  // "rank 2 (pid 71, node n0) was killed by signal 9 (SIGKILL)".
  std::string Sentence(const RankEnd& end) const;

 private:
  std::string Story(const RankEnd& end) const;
  const RankEnd* Guilty() const;
  const RankEnd* FirstHealthy() const;
  const RankEnd* FirstUnclean() const;
  std::string Forgiven() const;
  std::string Headline() const;
  std::string OtherFailures() const;
  std::string EndedByUs() const;

  std::string job_;
  std::string node_;
  std::vector<RankEnd> ends_;
  std::optional<int> interrupted_;
  bool reader_gone_ = false;
  std::string elsewhere_;
  std::vector<int> left_running_;
  std::optional<ProcessEnd> coordinator_;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_RUN_OUTCOME_H_
