#ifndef MUSTER_CLIENT_LAUNCHER_OUTCOME_RUN_OUTCOME_H_
#define MUSTER_CLIENT_LAUNCHER_OUTCOME_RUN_OUTCOME_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "client/launcher/outcome/process_end.h"

namespace muster::launcher {

// How a rank broke the rules of MPI.
struct MpiFault {
  // With a code, what the rank did, such as "called MPI_Abort(5)". Else what follows "exited with
  // status 0", such as "before MPI_Finalize()".
  std::string text;
  std::optional<int> code;  // counts as the exit status
};

// How one rank of this launcher ended.
struct RankEnd {
  int rank = 0;
  pid_t pid = 0;
  ProcessEnd end;
  bool after_our_signal = false;  // the launcher had signalled it before
  bool forgiven = false;          // it was replaced, or the job continues without it
  bool without_leave = false;     // it exited with status 0 in the middle of the job
  std::string loss = {};          // the coordinator's account of the loss, if it sent one
  std::optional<MpiFault> mpi_fault = {};

  // Returns whether the rank has done its part.
  bool well() const { return end.clean() && !without_leave && !mpi_fault; }
  // Returns whether the rank has called MPI_Abort(), or its MPI_Init() was refused.
  bool aborted() const { return mpi_fault && mpi_fault->code; }
};

// Returns "rank 2 was killed by signal 9 (SIGKILL)".
std::string DescribeEnd(const RankEnd& end);

// Returns whether the exit status says that the rank was healthy and had to end because of others.
bool SaysHealthy(const ProcessEnd& end);

// Collects how the ranks ended, in that order, and decides what the run reports.
class RunOutcome {
 public:
  // `node` is this node's name in messages.
  RunOutcome(std::string job, std::string node) : job_(std::move(job)), node_(std::move(node)) {}

  void Add(const RankEnd& end) { ends_.push_back(end); }
  // Returns the end of the process that had this pid, or null if none was added.
  RankEnd* Find(pid_t pid);
  // Drops the ends of ranks that had ended well, because a group restart replaced them.
  void ForgetCleanEnds();
  // Notes the user's signal that ended the run.
  void Interrupted(int signal);
  // Notes that the hosted coordinator has ended before the ranks, and how.
  void CoordinatorLost(const ProcessEnd& end) { coordinator_ = end; }

  // Notes that the job has failed on another node, and why.
  void FailedElsewhere(std::string reason) { failure_elsewhere_ = std::move(reason); }
  // Notes that an MPI world has ended on another node before it ended here, and why. `code` is that
  // of MPI_Abort(). Failures of ranks here are consequences.
  void WorldEndedElsewhere(std::string reason, std::optional<int> code) {
    failure_elsewhere_ = std::move(reason);
    world_ended_elsewhere_ = true;
    abort_code_elsewhere_ = code;
  }
  // Returns that reason, or "".
  const std::string& failure_elsewhere() const { return failure_elsewhere_; }
  // Notes the ranks that were left running because this user may not signal them.
  void LeftRunning(std::vector<int> ranks) { left_running_ = std::move(ranks); }
  // Notes that the output has lost its reader. The run then ends like a program that gets SIGPIPE.
  void ReaderGone() { reader_gone_ = true; }

  int clean_ends() const;

  // Returns the launcher's exit status (docs/exit-codes.md), the first of these that applies:
  //   0 if every rank ended well or is forgiven
  //   the status of the guilty rank: the first that failed and does not say that it is healthy
  //   128 + SIGPIPE if the output lost its reader
  //   76 if the coordinator was lost
  //   the code of an MPI_Abort() on another node, 75 if the job failed elsewhere otherwise
  //   1 if a rank could not be ended
  //   the status of the first rank that says it is healthy, or else of the first that did not end
  //   well under the launcher's signals
  int ExitStatus() const;

  // Returns one line about what went wrong, even if a restart repaired it. Empty if nothing did.
  std::string Summary() const;

  // Returns "rank 2 (pid 71, node n0) was killed by signal 9 (SIGKILL)".
  std::string Sentence(const RankEnd& end) const;

 private:
  std::string DetailedSentence(const RankEnd& end) const;
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
  std::string failure_elsewhere_;
  bool world_ended_elsewhere_ = false;
  std::optional<int> abort_code_elsewhere_;
  std::vector<int> left_running_;
  std::optional<ProcessEnd> coordinator_;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_OUTCOME_RUN_OUTCOME_H_
