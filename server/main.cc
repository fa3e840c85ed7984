// musterd: the coordinator of one job. Parses the flags (server/daemon/daemon_flags.cc), starts the
// gRPC server (server/service) and the pages (server/daemon/pages.h), waits until a signal or the
// job's end, and drains. tests/server/service/daemon_test.cc runs it as a process.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/process/exit_codes.h"
#include "common/process/known_variables.h"
#include "common/process/local_coordinators.h"
#include "common/process/termination_log.h"
#include "server/daemon/daemon_flags.h"
#include "server/daemon/descriptors.h"
#include "server/daemon/guards/connections.h"
#include "server/daemon/logging.h"
#include "server/daemon/memory_trimming.h"
#include "server/daemon/pages.h"
#include "server/daemon/port_file.h"
#include "server/daemon/signals.h"
#include "server/service/base/daemon_version.h"
#include "server/service/server.h"
#include "server/web/http_server.h"
#include "spdlog/spdlog.h"

namespace muster::daemon {
namespace {

constexpr int kOk = 0;
constexpr int kFailed = 1;
// The interval at which the main loop returns free memory and looks for changed files.
constexpr absl::Duration kPollInterval = absl::Seconds(1);
// The time that the daemon stays after a failure that no member was attached to hear of. Launchers
// ask every two seconds.
constexpr absl::Duration kLauncherLinger = absl::Seconds(3);
// The longest time that the last lines of the log may delay the exit.
constexpr absl::Duration kLogFlushLimit = absl::Seconds(1);

// The end of the daemon: the reason, which its members are told, and the exit status.
struct Stop {
  std::string reason;
  int exit_status = kOk;
};

int Fail(const absl::Status& status) {
  UnblockTermination();  // writing to standard error may hang
  std::cerr << "musterd: " << status.message() << "\n";
  WriteTerminationLog(status.message());
  return absl::IsInvalidArgument(status) || absl::IsFailedPrecondition(status)
             ? exit_codes::kBadConfiguration
             : kFailed;
}

// Returns the address at which `muster status` on this machine finds the job.
std::string LocalAddress(const std::string& address) {
  const absl::StatusOr<HostPort> parsed = ParseHostPort(address);
  return parsed.ok() ? LoopbackIfWildcard(*parsed).ToString() : address;
}

std::string Absolute(const std::string& path) {
  std::error_code ignored;
  return path.empty() ? "" : std::filesystem::absolute(path, ignored).string();
}

void LogStart(const service::Server& server, const core::Options& options) {
  const std::string size =
      options.world_size == 0 ? "given by the first member" : absl::StrCat(options.world_size);
  spdlog::info("job '{}': serving at {}, world size {}, musterd {}", options.job_id,
               server.address(), size, service::kDaemonVersion);
}

Stop StopForOutcome(const absl::Status& outcome) {
  if (outcome.ok()) {
    spdlog::info("done: every member has left");
    return {"the job is done: every member has left", kOk};
  }
  spdlog::info("done: the job has failed");  // the log has given the reason before
  WriteTerminationLog(outcome.message());
  return {std::string(outcome.message()), kFailed};
}

// Blocks until a signal or the job's end says that the daemon must stop. Meanwhile looks after
// memory and credentials.
Stop AwaitStop(service::Server& server, const Flags& flags) {
  absl::Time give_up = absl::InfiniteFuture();
  absl::Time linger_until = absl::InfinitePast();
  TrimPolicy trim_policy;
  while (true) {
    const std::optional<absl::Status> outcome = server.Outcome();
    if (flags.exit_when_done && outcome.has_value()) {
      // If no member was attached when the job failed, none has heard of it. Then stay for the
      // launchers' next question.
      const bool unheard = give_up == absl::InfiniteFuture() && !outcome->ok() && server.Quiet();
      if (unheard) linger_until = absl::Now() + kLauncherLinger;
      give_up = std::min(give_up, absl::Now() + flags.drain_time);
      const bool quiet = server.Quiet() && absl::Now() >= linger_until;
      if (quiet || absl::Now() >= give_up) return StopForOutcome(*outcome);
    }
    const Wakeup wakeup = AwaitSignal(std::min(give_up - absl::Now(), kPollInterval));
    if (wakeup == Wakeup::kTimeout) TrimMemory(&trim_policy);
    if (wakeup == Wakeup::kReload) {
      spdlog::info("SIGHUP: reading the files of tokens and certificates again");
    }
    server.RefreshCredentials();
    if (wakeup == Wakeup::kTerminate) {
      spdlog::info("draining: told to stop by a signal");
      return {"the coordinator was told to stop by a signal"};
    }
  }
}

// Bounds the memory of peers that have not presented credentials. gRPC receives a call's whole
// message before the daemon can check its credentials. All such peers share the room for one
// message of the largest size that a connection may begin with.
void LimitUnadmittedPeers(service::ServerOptions* server) {
  if (!server->credentials.authenticate_callers()) return;
  AllConnections().LimitUnadmitted(service::MaxFirstRequestBytes(server->core));
  server->on_admitted = [](absl::FunctionRef<std::string()> peer) { AllConnections().Admit(peer); };
}

int Serve(Flags flags) {
  const uint64_t for_pages = flags.pages.listen.empty() ? 0 : web::HttpServer::kMaxDescriptors;
  absl::Status valid = Validate(flags.pages);
  if (valid.ok()) valid = FitMembersToDescriptors(for_pages, &flags.server.core);
  if (!valid.ok()) return Fail(valid);
  if (flags.exit_when_done) flags.server.on_outcome = Notify;
  if (!flags.journal.empty()) flags.server.journal = {flags.journal, flags.journal_max_bytes};
  LimitUnadmittedPeers(&flags.server);
  const absl::StatusOr<std::unique_ptr<service::Server>> server =
      service::Server::Start(flags.server);
  if (!server.ok()) return Fail(server.status());
  const absl::StatusOr<std::unique_ptr<Pages>> pages = Pages::Serve(flags.pages, **server);
  if (!pages.ok()) return Fail(pages.status());
  const std::unique_ptr<CoordinatorRegistration> listed =
      CoordinatorRegistration::Add({flags.server.core.job_id, LocalAddress((*server)->address()),
                                    Absolute(flags.server.credentials.token_file), getpid()});
  // The port file comes last, but for the log. A script that has seen it can rely on a daemon that
  // is up, and on `muster status` finding the job.
  absl::StatusOr<std::unique_ptr<PortFile>> port_file =
      PortFile::Write("--port-file", flags.port_file, (*server)->port());
  if (!port_file.ok()) return Fail(port_file.status());
  LogStart(**server, flags.server.core);
  const Stop stop = AwaitStop(**server, flags);
  port_file->reset();
  UnblockTermination();  // a second signal ends the process without a drain
  (*server)->Shutdown(stop.reason, flags.drain_time);
  spdlog::info("stopped");
  return stop.exit_status;
}

}  // namespace
}  // namespace muster::daemon

int main(int argc, char** argv) {
  // Debian's Abseil checks for deadlocks at every lock, also gRPC's, under one global lock.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  muster::daemon::SetUpMemory();
  muster::daemon::SetUpSignals();
  muster::daemon::Flags flags;
  if (const std::optional<int> status = muster::daemon::ParseFlags(argc, argv, &flags)) {
    return *status;
  }
  muster::daemon::SetUpLogging(flags.log);
  for (const std::string& warning : muster::UnknownVariableWarnings()) spdlog::warn("{}", warning);
  const int status = muster::daemon::Serve(std::move(flags));
  muster::daemon::FlushLog(muster::daemon::kLogFlushLimit);
  return status;
}
