#include "client/cli/launcher.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iostream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cli/find_program.h"
#include "client/cli/process_end.h"
#include "client/cli/process_tree.h"
#include "client/cli/supervisor.h"

namespace muster::cli {
namespace {

constexpr int kExitFailure = 1;
constexpr int kExitNotExecutable = 126;
constexpr int kExitNotFound = 127;
constexpr char kSupervisorName[] = "rank-supervisor";  // 15 characters, the kernel's limit
constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

// timeout(1) signals its child and then the process group that both are in, which is one wish and
// not two.
constexpr absl::Duration kSameWish = absl::Milliseconds(20);

void Say(const std::string& text) { std::cerr << absl::StrCat("muster: ", text, "\n"); }

bool IsIgnored(int signal) {
  struct sigaction action;
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

// Blocks and returns what the launcher waits for. SIGHUP stays ignored where it is: nohup(1).
sigset_t BlockSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  for (int signal : kForwarded) {
    if (signal != SIGHUP || !IsIgnored(SIGHUP)) sigaddset(&set, signal);
  }
  signal(SIGCHLD, SIG_DFL);  // ignored, it would take the children's exit status away
  signal(SIGPIPE, SIG_IGN);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  return set;
}

// Overwrites what ps(1) and pkill(1) see.
void SetProcessName(const std::string& name, int argc, char** argv) {
  prctl(PR_SET_NAME, name.c_str());
  char* const begin = argv[0];
  const size_t size = argv[argc - 1] + strlen(argv[argc - 1]) - begin;
  memset(begin, 0, size);
  memcpy(begin, name.data(), std::min(size, name.size()));
}

// Returns the exit status of `muster run`. The signals that the launcher waits for stay blocked
// here: a terminal, timeout(1) or a batch system may send them to every process, but the supervisor
// gets them from the launcher, each of them once.
int Supervise(const LaunchPlan& plan, const std::string& program, const std::string& musterd,
              int control_fd) {
  setpgid(0, 0);             // out of the reach of kill -9 -group
  signal(SIGTTOU, SIG_IGN);  // it writes to the terminal from outside the foreground group
  BecomeSubreaper();
  prctl(PR_SET_PDEATHSIG, SIGCONT);  // if it was stopped when the launcher dies, it must still act
  return Supervisor(plan, program, musterd, control_fd).Run();
}

class Launcher {
 public:
  // Takes the writing end of the supervisor's control pipe.
  Launcher(sigset_t signals, pid_t supervisor, int control_fd)
      : signals_(signals), supervisor_(supervisor), control_fd_(control_fd) {}

  int WaitForSupervisor() {
    int wait_status = 0;
    while (waitpid(supervisor_, &wait_status, WNOHANG) != supervisor_) {
      siginfo_t info;
      const int signal = sigwaitinfo(&signals_, &info);
      if (signal > 0 && signal != SIGCHLD && !IsRepetition(info)) Forward(signal);
    }
    return Finish(FromWaitStatus(wait_status));
  }

 private:
  bool IsRepetition(const siginfo_t& info) {
    const absl::Time now = absl::Now();
    const bool same = info.si_signo == last_.si_signo && info.si_pid == last_.si_pid &&
                      now - last_time_ < kSameWish;
    last_ = info;
    last_time_ = now;
    return same;
  }

  void Forward(int signal) {
    const auto byte = static_cast<unsigned char>(signal);
    // It fails only if the supervisor has just ended.
    [[maybe_unused]] const ssize_t written = write(control_fd_, &byte, 1);
  }

  int Finish(const ProcessEnd& end) {
    KillDescendants();
    if (end.signaled) {
      Say(absl::StrCat("the supervisor process (pid ", supervisor_, ") ", Describe(end),
                       "; the ranks were killed"));
    }
    return ShellStatus(end);
  }

  sigset_t signals_;
  pid_t supervisor_;
  int control_fd_;
  siginfo_t last_ = {};
  absl::Time last_time_ = absl::InfinitePast();
};

int StartAndWait(const LaunchPlan& plan, const std::string& program, const std::string& musterd,
                 int argc, char** argv) {
  int control[2];
  if (pipe2(control, O_CLOEXEC) != 0) {
    Say(absl::StrCat("cannot make a pipe: ", strerror(errno)));
    return kExitFailure;
  }
  const sigset_t signals = BlockSignals();
  BecomeSubreaper();
  const pid_t supervisor = fork();
  if (supervisor < 0) {
    Say(absl::StrCat("cannot start the supervisor process: ", strerror(errno)));
    return kExitFailure;
  }
  if (supervisor == 0) {
    close(control[1]);
    SetProcessName(kSupervisorName, argc, argv);
    _exit(Supervise(plan, program, musterd, control[0]));
  }
  close(control[0]);
  return Launcher(signals, supervisor, control[1]).WaitForSupervisor();
}

}  // namespace

int Launch(const LaunchPlan& plan, int argc, char** argv) {
  const absl::StatusOr<std::string> program = FindProgram(plan.program[0], GetEnv("PATH"));
  if (!program.ok()) {
    Say(absl::StrCat("cannot execute ", program.status().message()));
    return absl::IsNotFound(program.status()) ? kExitNotFound : kExitNotExecutable;
  }
  absl::StatusOr<std::string> musterd = "";
  if (!plan.coordinator) {
    const std::string given = plan.musterd.empty() ? GetEnv("MUSTER_MUSTERD") : plan.musterd;
    musterd = FindMusterd(given, SelfPath(), GetEnv("PATH"));
  }
  if (!musterd.ok()) {
    Say(std::string(musterd.status().message()));
    return kExitFailure;
  }
  return StartAndWait(plan, *program, *musterd, argc, argv);
}

}  // namespace muster::cli
