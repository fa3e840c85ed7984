#include "client/cli/inquire/coordinator_query.h"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/inquire/stopped_coordinator.h"
#include "common/credentials/caller_credentials.h"

namespace muster::cli {
namespace {

constexpr pid_t kFirstProcess = 1;

// Installs signal handlers in the first process of a container. The kernel ignores signals to it
// that have no handler.
void EndOnSignals() {
  if (getpid() != kFirstProcess) return;
  for (const int ending : {SIGINT, SIGTERM, SIGHUP}) {
    signal(ending, [](int number) { _exit(128 + number); });
  }
}

}  // namespace

absl::Status PrepareForQueries(const CredentialFiles& files) {
  EndOnSignals();
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);  // its errors are part of the answers
  return CheckCredentialFiles(files);
}

std::string NoAnswerReason(const std::string& address, const absl::Status& error,
                           absl::Duration timeout) {
  if (absl::IsDeadlineExceeded(error)) {
    const std::string stopped = DescribeStopped(address);
    if (!stopped.empty()) return stopped;
    return absl::StrCat("no answer within ", absl::FormatDuration(timeout),
                        "; check that musterd is running there and reachable");
  }
  if (!absl::IsUnavailable(error)) return std::string(error.message());
  if (absl::StrContains(error.message(), "andshake")) {
    return absl::StrCat(error.message(),
                        "; check that musterd serves TLS there (--tls-cert), with a certificate of "
                        "the authority in --tls-ca");
  }
  return absl::StrCat(error.message(), "; check that musterd is running there and reachable");
}

}  // namespace muster::cli
