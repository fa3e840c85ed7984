#ifndef MUSTER_LAUNCH_H_
#define MUSTER_LAUNCH_H_

#include "muster/cxx17.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

// Starts the processes of a job from inside the program, without `muster run`. At the start of
// main():
//
//   muster::LaunchOptions options;
//   options.nproc_per_node = 4;
//   absl::StatusOr<muster::LaunchResult> result = muster::Launch(options, Train, config);
//   if (!result.ok()) return result.status();  // no process ran
//   return result->status();                   // OK if every process has returned OK
namespace muster {

// How Launch() and Spawn() start a job.
struct LaunchOptions {
  // Number of processes on this machine. 0: one for each GPU that this process can use, or one
  // process if there is no GPU.
  int nproc_per_node = 0;

  // The number of machines, on each of which the program calls Launch(), and the index of this one.
  int nnodes = 1;
  int node_rank = 0;

  // The address of the coordinator, "host:port", which runs on machine 0. Empty, on a job of one
  // machine: a free port of the loopback interface.
  std::string coordinator;

  // The job's id. Empty: "default" if `coordinator` is set, or else a random id.
  std::string job;

  // The path of musterd, on machine 0. Empty: MUSTER_MUSTERD, or else the folder of this program,
  // or else PATH.
  std::string musterd;

  // More flags for musterd. If `coordinator` is empty, musterd gets a token that only these
  // processes know. Otherwise, at an address that other machines can reach, it needs a token or
  // mutual TLS: set MUSTER_TOKEN_FILE on every machine (docs/security.md), or pass "--insecure" on
  // a trusted network.
  std::vector<std::string> musterd_flags;

  // Runs in each process before the function. If it returns an error, the function does not run and
  // the process ends with that error.
  std::function<absl::Status()> before;

  // After the first failure, the other processes get `failure_wait` to end on their own: the
  // coordinator tells them at once how the process has ended. Then they get SIGTERM, and after
  // `grace` SIGKILL. The grace also follows a signal that was forwarded to them.
  absl::Duration failure_wait = absl::Seconds(5);
  absl::Duration grace = absl::Seconds(10);

  // A folder for reports of hangs, which is created if it is missing. When the job makes no
  // progress or a collective times out, the launcher writes what the processes of this machine are
  // doing to hang-TIME/ in it (docs/observe.md). It uses gdb and py-spy, if they are installed, and
  // writes at most ten reports. Empty: no reports.
  std::string debug_dir;
};

// How one process has ended.
struct LaunchedProcess {
  int rank = 0;               // in the job
  int local_rank = 0;         // on this machine
  int64_t pid = 0;            // of the process
  int exit_status = 0;        // ExitCode() of the function's status; -1: a signal ended the process
  std::optional<int> signal;  // the signal that ended the process

  // OK, or the error that the function returned. INTERNAL, with the text, if it threw an exception.
  // ABORTED if a signal ended the process or it called exit(); names the signal or the status.
  absl::Status status;

  // Whether Launch() ended the process: after the failure of another, or because of a signal to the
  // program.
  bool was_ended = false;
};

// How all processes of this machine have ended.
struct LaunchResult {
  std::vector<LaunchedProcess> processes;  // by local rank

  // The rank of the process that failed first; unset if no process failed.
  std::optional<int> first_failed_rank;

  // OK, or why the coordinator, which died while the job needed it, was not restarted.
  absl::Status coordinator;

  // Returns OK if every process has ended with OK. Otherwise returns one error that lists all
  // failures, the first one first. ExitCode() of it is the exit code of `muster run`: the code of
  // the process to blame.
  absl::Status status() const;
};

namespace internal {

absl::StatusOr<LaunchResult> LaunchProcesses(
    const LaunchOptions& options, const std::function<absl::Status(int local_rank)>& body);

// Calls a function that returns void, a Status, or a StatusOr, whose value it drops.
template <class F, class... Args>
absl::Status CallLaunched(F& fn, Args&... args) {
  using Result = std::invoke_result_t<F&, Args&...>;
  if constexpr (std::is_void_v<Result>) {
    std::invoke(fn, args...);
    return absl::OkStatus();
  } else if constexpr (std::is_same_v<std::decay_t<Result>, absl::Status>) {
    return std::invoke(fn, args...);
  } else {
    return std::invoke(fn, args...).status();
  }
}

}  // namespace internal

// Calls fn(args...) in new processes, one for each GPU or slot of this machine. Blocks until all of
// them have ended, and all processes that they have started. The new processes are forks: they see
// the program's memory, and their changes to it stay their own. The environment of each process
// says its place in the job, with rank = node_rank * nproc_per_node + local rank. So
// Job::Join(JobOptions::FromEnvironment()) joins the job. Machine 0 hosts the coordinator.
//
// If the coordinator dies, it is restarted, and the processes do not notice.
//
// If a process fails, on this or another machine, the others get time to report why they cannot go
// on, and are then ended. Processes that they leave in the background get SIGTERM, and SIGKILL
// after the grace.
//
// SIGINT, SIGTERM, SIGHUP and SIGQUIT are forwarded to the processes, and a second signal kills
// them. After they have ended, the program itself gets the first signal. SIGUSR1, SIGUSR2 and
// SIGWINCH are only forwarded. SIGTSTP (Ctrl-Z) stops the processes and the program, and SIGCONT
// continues them. If the program is killed, the processes are killed too.
//
// An error means that fn was not called in any process, or that its outcome is unknown:
//   FAILED_PRECONDITION  this process has more than one thread, or uses gRPC or CUDA, which do not
//                        survive a fork. Call it at the start of main();
//   INVALID_ARGUMENT     an option is malformed, or its folder is not writable;
//   NOT_FOUND            musterd was not found;
//   UNAVAILABLE          the coordinator ended before it listened; says why;
//   RESOURCE_EXHAUSTED   this machine has no resources for the processes or their descriptors.
//                        ExitCode() says that the node is unhealthy;
//   ABORTED              the process that supervises the others was killed, and they with it.
template <class F, class... Args>
[[nodiscard]] absl::StatusOr<LaunchResult> Launch(const LaunchOptions& options, F&& fn,
                                                  Args&&... args) {
  return internal::LaunchProcesses(options,
                                   [&](int) { return internal::CallLaunched(fn, args...); });
}

// As Launch(), but calls fn(local_rank, args...).
template <class F, class... Args>
[[nodiscard]] absl::StatusOr<LaunchResult> Spawn(const LaunchOptions& options, F&& fn,
                                                 Args&&... args) {
  return internal::LaunchProcesses(
      options, [&](int local_rank) { return internal::CallLaunched(fn, local_rank, args...); });
}

}  // namespace muster

#endif  // MUSTER_LAUNCH_H_
