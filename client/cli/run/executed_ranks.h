#ifndef MUSTER_CLIENT_CLI_RUN_EXECUTED_RANKS_H_
#define MUSTER_CLIENT_CLI_RUN_EXECUTED_RANKS_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/run/launch_plan.h"
#include "client/cli/run/output.h"
#include "client/launcher/rank_starter.h"

namespace muster::cli {

// The RankStarter of `muster run`: ranks execute a program, and their output goes through the
// launcher.
class ExecutedRanks : public launcher::RankStarter {
 public:
  // `program` is the path that the ranks execute. `plan` and `output` must outlive this object.
  ExecutedRanks(const LaunchPlan* plan, std::string program, Output* output);

  // Creates the folders of the plan, and opens its log files. An error is a text for the user.
  absl::Status OpenLogs();

  absl::StatusOr<pid_t> Start(const launcher::JobPlan& job,
                              const launcher::RankStart& start) override;
  void Ended(int local_rank, const launcher::RankEnd& end, const std::string& why) override;
  absl::StatusOr<int> CoordinatorOutput() override;
  void CoordinatorServes(const HostPort& address, const std::optional<HostPort>& page) override;
  void WindowChanged() override { output_->ResizeTerminals(); }
  std::shared_ptr<const launcher::OutputTails> output_tails() const override {
    return output_->tails();
  }
  void Say(const std::string& text) override { output_->Say(text); }

 private:
  absl::StatusOr<Output::ChildFds> OpenOutput(int local_rank);
  std::string NameOf(int local_rank) const;

  const LaunchPlan& plan_;
  const std::string program_;
  Output* const output_;
  std::vector<std::optional<int>> logs_;  // by local rank
};

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_RUN_EXECUTED_RANKS_H_
