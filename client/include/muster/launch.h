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

namespace muster {

// How a program starts the processes of its job by itself, without `muster run`.
struct LaunchOptions {
  // Processes on this machine. 0: one for each GPU that this process may use, or one if it has
  // none.
  int nproc_per_node = 0;

  // Machines of the job, on each of which the program calls Launch(), and which of them this is.
  int nnodes = 1;
  int node_rank = 0;

  // "host:port": where machine 0 hosts the coordinator and the others find it. Empty, for one
  // machine: a free port of the loopback interface.
  std::string coordinator;

  // The job's id. Empty: "default" where a coordinator is given, else a random one.
  std::string job;

  // The musterd binary, for machine 0. Empty: MUSTER_MUSTERD, else next to this program, else in
  // PATH.
  std::string musterd;

  // More flags for it. Without `coordinator` it has a token that only these processes know. With
  // one, at an address that other machines can reach, it needs a token or mutual TLS: set
  // MUSTER_TOKEN_FILE on every machine (docs/security.md), or give it "--insecure" on a network
  // that is trusted.
  std::vector<std::string> musterd_flags;

  // Called in each process before the function; its error is the process's.
  std::function<absl::Status()> before;

  // After the first failure: how long the other processes have to end by themselves, before
  // SIGTERM; and from that, or from a signal that was passed on, to SIGKILL. In the first the
  // coordinator, which is told at once how a process has ended, tells the others.
  absl::Duration failure_wait = absl::Seconds(5);
  absl::Duration grace = absl::Seconds(10);

  // A folder, made where it is not there. When the job stands still or a collective times out, what
  // the processes of this machine are doing is written to hang-TIME/ in it (docs/observe.md), the
  // first ten times; they are looked at by gdb and py-spy, where those are installed. Empty:
  // nothing is written.
  std::string debug_dir;
};

// How one process ended.
struct LaunchedProcess {
  int rank = 0;               // in the job
  int local_rank = 0;         // of those that were started here
  int64_t pid = 0;            // which it had
  int exit_status = 0;        // ExitCode() of what the function returned; -1: a signal ended it
  std::optional<int> signal;  // that ended it

  // OK; or the error that the function returned; or INTERNAL with the exception that it threw; or
  // ABORTED with the signal or the exit status.
  absl::Status status;

  // Launch() ended it after another one had failed, or because of a signal to the program.
  bool was_ended = false;
};

struct LaunchResult {
  std::vector<LaunchedProcess> processes;  // those of this machine, by local rank

  // The process that failed first; unset if none did.
  std::optional<int> first_failed_rank;

  // Why the coordinator, which had died while it was needed, was not started again.
  absl::Status coordinator;

  // OK if every process is; else one error that tells of all of them, the first failure first.
  // ExitCode() makes of it what `muster run` would exit with: the code of the guilty process.
  absl::Status status() const;
};

namespace internal {

absl::StatusOr<LaunchResult> LaunchProcesses(
    const LaunchOptions& options, const std::function<absl::Status(int local_rank)>& body);

// A function may return nothing, a Status, or a StatusOr, whose value is dropped.
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

// Calls fn(args...) in new processes, one for each GPU or slot of this machine, and blocks until
// all of them have ended and no process is left that they started. The processes are forks: they
// see the program's memory as it is, and what they change there nobody else sees. Each finds its
// place in its environment, where rank = node_rank * nproc_per_node + local rank, so that
// Job::Join(JobOptions::FromEnvironment()) joins the job; machine 0 hosts its coordinator.
//
//   int main(int argc, char** argv) {
//     muster::LaunchOptions options;
//     options.nproc_per_node = 4;
//     absl::StatusOr<muster::LaunchResult> result = muster::Launch(options, Train, config);
//     if (!result.ok()) return Fail(result.status());  // nothing ran
//     if (!result->status().ok()) return Fail(result->status());
//   }
//
// A coordinator that dies is restarted, and the processes go on.
//
// When a process fails, here or on another machine, the others get time to say why they cannot go
// on, and are then ended. What they leave running in the background gets SIGTERM, and SIGKILL after
// the grace.
//
// SIGINT, SIGTERM, SIGHUP and SIGQUIT that arrive meanwhile are forwarded to the processes, and a
// second one kills them; when they have ended, the program gets the first as usual. SIGUSR1,
// SIGUSR2 and SIGWINCH are forwarded and do nothing else. SIGTSTP (Ctrl-Z) stops the processes and
// the program, SIGCONT continues them. If the program is killed, so are they.
//
// Errors mean that fn was not called anywhere or that nothing is known of its calls:
//   FAILED_PRECONDITION  this process has more than one thread, or gRPC or CUDA is in use, none of
//                        which a fork survives: call it at the start of main();
//   INVALID_ARGUMENT     an option is malformed, or its folder cannot be written to;
//   NOT_FOUND            there is no musterd;
//   UNAVAILABLE          the coordinator ended before it listened, with why;
//   RESOURCE_EXHAUSTED   this machine has no room for the processes, or for their descriptors:
//                        ExitCode() says that the node is unhealthy;
//   ABORTED              the process that watches over the others was killed, and so were they.
template <class F, class... Args>
[[nodiscard]] absl::StatusOr<LaunchResult> Launch(const LaunchOptions& options, F&& fn,
                                                  Args&&... args) {
  return internal::LaunchProcesses(options,
                                   [&](int) { return internal::CallLaunched(fn, args...); });
}

// The same, but calls fn(local_rank, args...).
template <class F, class... Args>
[[nodiscard]] absl::StatusOr<LaunchResult> Spawn(const LaunchOptions& options, F&& fn,
                                                 Args&&... args) {
  return internal::LaunchProcesses(
      options, [&](int local_rank) { return internal::CallLaunched(fn, local_rank, args...); });
}

}  // namespace muster

#endif  // MUSTER_LAUNCH_H_
