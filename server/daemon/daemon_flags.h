#ifndef MUSTER_SERVER_DAEMON_DAEMON_FLAGS_H_
#define MUSTER_SERVER_DAEMON_DAEMON_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "server/daemon/logging.h"
#include "server/daemon/pages.h"
#include "server/service/server.h"

namespace muster::daemon {

struct Flags {
  service::ServerOptions server;
  LogOptions log;
  std::string port_file;  // empty: none
  PageOptions pages;
  std::string journal;  // empty: none
  uint64_t journal_max_bytes = 256 << 20;
  absl::Duration drain_time = absl::Seconds(10);
  bool exit_when_done = false;
};

// Reads the command line and the MUSTER_* environment variables. Returns nullopt if there is a job
// to serve. Otherwise returns the process's exit status: 0 after --help and --version, 64 after bad
// usage, which is explained on standard error.
std::optional<int> ParseFlags(int argc, char** argv, Flags* flags);

}  // namespace muster::daemon

#endif  // MUSTER_SERVER_DAEMON_DAEMON_FLAGS_H_
