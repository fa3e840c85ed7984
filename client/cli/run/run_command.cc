#include "client/cli/run/run_command.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/cli/run/mpi_choice.h"
#include "client/cli/run/node_run.h"
#include "client/launcher/binding/rank_binding.h"
#include "client/launcher/coordinator/rank_reporter.h"
#include "client/launcher/outcome/process_end.h"
#include "client/launcher/plan/rank_environment.h"
#include "client/launcher/process/environment_reader.h"
#include "client/launcher/process/find_program.h"
#include "client/launcher/process/process_tree.h"
#include "client/launcher/process/signal_relay.h"
#include "common/credentials/caller_credentials.h"
#include "common/process/exit_codes.h"
#include "common/process/termination_log.h"

namespace muster::cli {
namespace {

using launcher::Leftovers;
using launcher::ProcessInfo;

constexpr char kSupervisorName[] = "rank-supervisor";  // 15 characters, the kernel's limit
constexpr char kLoopback[] = "127.0.0.1";

void Say(const std::string& text) { std::cerr << absl::StrCat("muster: ", text, "\n"); }

// Tells the user why nothing was started.
void Refuse(const std::string& text) {
  Say(text);
  WriteTerminationLog(text);
}

// Tells the user why nothing was started, and returns the exit status.
int RefuseStart(int error, absl::string_view what) {
  const absl::Status status = launcher::StartError(error, what);
  Refuse(std::string(status.message()));
  return absl::IsResourceExhausted(status) ? exit_codes::kUnhealthyNode : exit_codes::kFailed;
}

// Blocks the signals that the launcher waits for, and returns them.
sigset_t BlockSignals() {
  sigset_t set = launcher::SignalRelay::Signals();
  sigaddset(&set, SIGCHLD);
  signal(SIGCHLD, SIG_DFL);  // if it were ignored, the children's exit status would be lost
  signal(SIGPIPE, SIG_IGN);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  return set;
}

// Overwrites the names that ps(1) and pkill(1) use.
void SetProcessName(const std::string& name, int argc, char** argv) {
  prctl(PR_SET_NAME, name.c_str());
  char* const begin = argv[0];
  const size_t size = argv[argc - 1] + strlen(argv[argc - 1]) - begin;
  memset(begin, 0, size);
  memcpy(begin, name.data(), std::min(size, name.size()));
}

// Tells the user, and the other nodes, that the ranks cannot be bound. Returns the exit status.
int RefuseBinding(const LaunchPlan& plan, const absl::Status& status) {
  const std::string why(status.message());
  Refuse(why);
  if (plan.coordinator_given) launcher::ReportNotStarted(plan.job, why);
  return absl::IsInvalidArgument(status) ? exit_codes::kBadConfiguration : exit_codes::kFailed;
}

// Runs the supervisor process and returns the exit status of `muster run`. The signals that the
// launcher waits for stay blocked here. A terminal, timeout(1) or a batch system may send a signal
// to every process, but the supervisor must get it only once, from the launcher.
int Supervise(LaunchPlan plan, const std::string& program, int control_fd) {
  setpgid(0, 0);             // out of reach of kill -9 -GROUP
  signal(SIGTTOU, SIG_IGN);  // it writes to the terminal as a background process
  launcher::BecomeSubreaper();
  if (absl::Status chosen = ChooseMpi(program, &plan); !chosen.ok()) {
    Refuse(std::string(chosen.message()));
    return exit_codes::kFailed;
  }
  const auto claims = launcher::BindRanks(&plan.job);
  if (!claims.ok()) return RefuseBinding(plan, claims.status());
  prctl(PR_SET_PDEATHSIG, SIGCONT);  // wakes a stopped supervisor when the launcher dies
  return NodeRun(std::move(plan), program, control_fd).Run();
}

class Launcher {
 public:
  // Takes the writing end of the supervisor's control pipe. `earlier` are the descendants that this
  // process had before it started the supervisor.
  Launcher(sigset_t signals, pid_t supervisor, int control_fd, std::vector<ProcessInfo> earlier)
      : signals_(signals),
        supervisor_(supervisor),
        relay_(control_fd),
        earlier_(std::move(earlier)) {}

  int WaitForSupervisor() {
    while (true) {
      int wait_status = 0;
      const pid_t ended = waitpid(-1, &wait_status, WNOHANG);
      if (ended == supervisor_) return Finish(launcher::FromWaitStatus(wait_status));
      if (ended > 0) continue;  // an orphan, adopted because this is a container's first process
      siginfo_t info;
      const int signal = sigwaitinfo(&signals_, &info);
      if (signal > 0 && signal != SIGCHLD) relay_.Forward(signal, info.si_pid);
    }
  }

 private:
  int Finish(const launcher::ProcessEnd& end) {
    if (!end.signaled) return end.code;  // it has left nothing that could be ended
    launcher::KillDescendants([this] { return RankLeftovers(); });
    Say(absl::StrCat("the supervisor process (pid ", supervisor_, ") ", Describe(end),
                     "; the ranks were killed"));
    return ShellStatus(end);
  }

  // Returns the descendants that come from ranks. If this process had children before, some
  // descendants may be theirs. A rank's descendants are recognized by the process secret in their
  // environment.
  Leftovers RankLeftovers() {
    std::vector<ProcessInfo> all = launcher::Descendants(getpid());
    if (earlier_.empty()) return {std::move(all), {}};
    std::vector<ProcessInfo> candidates =
        launcher::WithoutDescendantsOf(StillLivingEarlier(all), all);
    // Every rank leads its own process group.
    launcher::EraseIf(&candidates,
                      [](const ProcessInfo& process) { return process.group == getpgrp(); });
    const std::vector<std::optional<std::string>> secrets = secrets_.ValuesOf(candidates);
    Leftovers left;
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (!secrets[i]) left.undecided.push_back(candidates[i]);
      if (secrets[i] && IsRankSecret(*secrets[i])) left.processes.push_back(candidates[i]);
    }
    return left;
  }

  std::set<pid_t> StillLivingEarlier(const std::vector<ProcessInfo>& all) const {
    std::set<pid_t> living;
    for (const ProcessInfo& now : all) {
      for (const ProcessInfo& then : earlier_) {
        if (now.pid == then.pid && now.started == then.started) living.insert(now.pid);
      }
    }
    return living;
  }

  static bool IsRankSecret(const std::string& secret) {
    return !secret.empty() && secret != launcher::GetEnv(launcher::kSecretVariable);
  }

  const sigset_t signals_;
  const pid_t supervisor_;
  launcher::SignalRelay relay_;
  const std::vector<ProcessInfo> earlier_;
  launcher::EnvironmentReader secrets_{launcher::kSecretVariable};
};

int StartAndWait(LaunchPlan plan, const std::string& program, int argc, char** argv) {
  int control[2];
  if (pipe2(control, O_CLOEXEC) != 0) return RefuseStart(errno, "cannot create a pipe");
  const sigset_t signals = BlockSignals();
  std::vector<ProcessInfo> earlier = launcher::Descendants(getpid());
  launcher::BecomeSubreaper();
  const pid_t supervisor = fork();
  if (supervisor < 0) return RefuseStart(errno, "cannot start the supervisor process");
  if (supervisor == 0) {
    close(control[1]);
    SetProcessName(kSupervisorName, argc, argv);
    _exit(Supervise(std::move(plan), program, control[0]));
  }
  close(control[0]);
  return Launcher(signals, supervisor, control[1], std::move(earlier)).WaitForSupervisor();
}

std::vector<std::string> CoordinatorFlags(const LaunchPlan& plan) {
  const launcher::JobPlan& job = plan.job;
  std::vector<std::string> flags = {absl::StrCat("--job=", job.job)};
  if (job.elastic()) {
    flags.push_back(absl::StrCat("--min-world-size=", job.min_world_size));
    flags.push_back(absl::StrCat("--max-world-size=", job.max_world_size));
  } else {
    flags.push_back(absl::StrCat("--world-size=", job.world_size()));
  }
  if (!plan.settle.empty()) flags.push_back(absl::StrCat("--settle=", plan.settle));
  return flags;
}

absl::Status FindCoordinator(LaunchPlan* plan) {
  const std::string given =
      plan->musterd.empty() ? launcher::GetEnv("MUSTER_MUSTERD") : plan->musterd;
  const absl::StatusOr<std::string> musterd =
      launcher::FindMusterd(given, launcher::SelfPath(), launcher::GetEnv("PATH"));
  if (!musterd.ok()) return musterd.status();
  plan->job.coordinator = {kLoopback, 0};
  plan->job.hosted = {*musterd, plan->job.coordinator, CoordinatorFlags(*plan), plan->metrics,
                      /*own_token=*/true};
  return absl::OkStatus();
}

// Fills in credentials that no flag gives from the environment. Checks the files here, because
// otherwise each rank would report the same error.
absl::Status FillCredentials(CredentialFiles* files) {
  const CredentialFiles environment = launcher::CredentialsFromEnvironment();
  for (std::string CredentialFiles::*file :
       {&CredentialFiles::token_file, &CredentialFiles::tls_ca, &CredentialFiles::tls_cert,
        &CredentialFiles::tls_key, &CredentialFiles::tls_server_name}) {
    if ((files->*file).empty()) files->*file = environment.*file;
  }
  return CheckCredentialFiles(*files);
}

}  // namespace

int RunRunCommand(LaunchPlan plan, int argc, char** argv) {
  const absl::StatusOr<std::string> program =
      launcher::FindProgram(plan.program[0], launcher::GetEnv("PATH"));
  if (!program.ok()) {
    const std::string why = absl::StrCat("cannot execute ", program.status().message());
    Refuse(why);
    if (plan.coordinator_given && FillCredentials(&plan.job.credentials).ok()) {
      launcher::ReportNotStarted(plan.job, why);
    }
    return absl::IsNotFound(program.status()) ? exit_codes::kNotFound : exit_codes::kNotExecutable;
  }
  if (!plan.coordinator_given) {
    if (absl::Status found = FindCoordinator(&plan); !found.ok()) {
      Refuse(std::string(found.message()));
      return exit_codes::kFailed;
    }
  } else if (absl::Status usable = FillCredentials(&plan.job.credentials); !usable.ok()) {
    Refuse(std::string(usable.message()));
    return exit_codes::kBadConfiguration;
  }
  return StartAndWait(std::move(plan), *program, argc, argv);
}

}  // namespace muster::cli
