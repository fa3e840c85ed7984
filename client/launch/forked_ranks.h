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

// The RankStarter of muster::Launch(): ranks are forks of the program that call a function.
class ForkedRanks : public launcher::RankStarter {
 public:
  using Body = std::function<absl::Status(int local_rank)>;

  // Ranks keep only the descriptors that are open now, without `own_fds`. They close everything
  // that this process opens later.
  ForkedRanks(Body body, const std::vector<int>& own_fds);

  // Forks a process that reads /dev/null and calls the body. It exits with ExitCode(status) of the
  // body's result; an exception counts as INTERNAL.
  absl::StatusOr<pid_t> Start(const launcher::JobPlan& job,
                              const launcher::RankStart& start) override;
  void Ended(int local_rank, const launcher::RankEnd& end, const std::string& why) override;
  void EndedWithoutLeave(int local_rank) override;
  absl::StatusOr<int> CoordinatorOutput() override;
  void Say(const std::string& text) override;

  // Returns how the processes have ended.
  const LaunchResult& result() const { return result_; }

 private:
  [[noreturn]] void RunRank(pid_t parent, int report_fd, const launcher::JobPlan& job,
                            const launcher::RankStart& start);
  void CloseOwnFds(int report_fd) const;

  const Body body_;
  std::set<int> inherited_fds_;
  std::vector<int> report_fds_;  // by local rank; the rank writes the body's status there
  LaunchResult result_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_LAUNCH_FORKED_RANKS_H_
