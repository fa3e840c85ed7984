#ifndef MUSTER_CLIENT_LAUNCH_FORKED_RANKS_H_
#define MUSTER_CLIENT_LAUNCH_FORKED_RANKS_H_

#include <sys/types.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/launcher/rank_starter.h"
#include "muster/launch.h"

namespace muster::internal {

// Ranks that are forks of the program and call a function.
class ForkedRanks : public launcher::RankStarter {
 public:
  using Body = std::function<absl::Status(int local_rank)>;

  // What this process opens later is closed in the ranks, and so is `own_fds`.
  ForkedRanks(Body body, const std::vector<int>& own_fds);

  // Forks a process that reads /dev/null, calls the body, and ends with status 0, or 1 if that
  // returns an error or throws.
  absl::StatusOr<pid_t> Start(const launcher::JobPlan& job,
                              const launcher::RankStart& start) override;
  void Ended(int local_rank, const launcher::RankEnd& end, const std::string& why) override;
  void EndedWithoutLeave(int local_rank) override;
  absl::StatusOr<int> CoordinatorOutput() override;
  void Say(const std::string& text) override;

  // How the processes have ended.
  const LaunchResult& result() const { return result_; }

 private:
  [[noreturn]] void BeRank(pid_t parent, int report_fd, const launcher::JobPlan& job,
                           const launcher::RankStart& start);
  void CloseOwnFds(int report_fd) const;

  const Body body_;
  std::set<int> programs_fds_;
  std::vector<int> report_fds_;  // by local rank; what the body has returned is read there
  LaunchResult result_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_LAUNCH_FORKED_RANKS_H_
