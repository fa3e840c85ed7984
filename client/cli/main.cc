// The `muster` command. main() parses the command line (command_line.h) and calls the subcommand:
//
//   run     run_command.h shows its processes. launch_plan makes the plan, client/launcher runs it,
//           and output.h forwards the ranks' output
//   status  status_command, status_report: one call of GetStatus, or one every interval
//   debug   debug_command, debug_report: an inquiry into a hang, and its bundle
//   health  health_command: grpc.health.v1
//   replay  replay_command: a musterd's journal, without a coordinator
//
// Nothing here links the SDK, because the command is not a rank. Code that makes the texts for the
// user is kept apart from calls and processes. Tests: tests/client/cli.

#include <sched.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/cli/command_line.h"
#include "client/cli/inquire/debug_command.h"
#include "client/cli/inquire/health_command.h"
#include "client/cli/inquire/replay_command.h"
#include "client/cli/inquire/status_command.h"
#include "client/cli/run/launch_plan.h"
#include "client/cli/run/run_command.h"
#include "client/launcher/process/gpu_count.h"
#include "common/credentials/random_bytes.h"
#include "common/credentials/token.h"
#include "common/process/exit_codes.h"
#include "common/process/known_variables.h"
#include "common/process/termination_log.h"

namespace muster::cli {
namespace {

std::string GenerateJobId() { return absl::StrCat("run-", absl::BytesToHexString(RandomBytes(4))); }

Machine ThisMachine() {
  cpu_set_t cpus;
  const bool known = sched_getaffinity(0, sizeof(cpus), &cpus) == 0;
  return {launcher::CountOwnGpus(), known ? CPU_COUNT(&cpus) : 1};
}

int Run(RunFlags flags, int argc, char** argv) {
  FillFromEnvironment([](const char* name) -> const char* { return std::getenv(name); }, &flags);
  const absl::StatusOr<LaunchPlan> plan = MakeLaunchPlan(flags, GenerateJobId(), ThisMachine());
  if (plan.ok()) return RunRunCommand(*plan, argc, argv);
  std::cerr << absl::StrCat("muster: ", plan.status().message(), "\nTry 'muster run --help'.\n");
  WriteTerminationLog(plan.status().message());
  return exit_codes::kBadConfiguration;
}

int RunTokenCommand() {
  std::cout << NewToken() << "\n";
  return 0;
}

void WarnOfUnknownVariables() {
  for (const std::string& warning : UnknownVariableWarnings()) {
    std::cerr << absl::StrCat("muster: ", warning, "\n");
  }
}

int Main(int argc, char** argv) {
  const Command command = ParseCommandLine(argc, argv);
  if (const auto* exit = std::get_if<Exit>(&command)) return exit->status;
  WarnOfUnknownVariables();
  if (const auto* status = std::get_if<StatusFlags>(&command)) return RunStatusCommand(*status);
  if (const auto* debug = std::get_if<DebugFlags>(&command)) return RunDebugCommand(*debug);
  if (const auto* health = std::get_if<HealthFlags>(&command)) return RunHealthCommand(*health);
  if (const auto* replay = std::get_if<ReplayFlags>(&command)) return RunReplayCommand(*replay);
  if (std::holds_alternative<PrintToken>(command)) return RunTokenCommand();
  return Run(std::get<RunFlags>(command), argc, argv);
}

// Reports a failed write to standard output, for example a token that did not fit on a full disk.
int CheckOutputWritten(int status) {
  if (std::cout.flush()) return status;
  std::cerr << "muster: standard output takes no more; what was to be printed is lost in part\n";
  return status == 0 ? exit_codes::kFailed : status;
}

}  // namespace
}  // namespace muster::cli

int main(int argc, char** argv) {
  return muster::cli::CheckOutputWritten(muster::cli::Main(argc, argv));
}
