#include "common/process/known_variables.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/text/nearest_name.h"

namespace muster {
namespace {

constexpr char kPrefix[] = "MUSTER_";
constexpr char kTestPrefix[] = "MUSTER_TEST_";

// Variables of jobs: read by the SDK, the launchers and the commands.
constexpr const char* kJobVariables[] = {
    "MUSTER_ACTIVITY_FILE",
    "MUSTER_ALLOW_SHARED_GPU",
    "MUSTER_BACKEND",
    "MUSTER_BIND_TO",
    "MUSTER_COORDINATOR",
    "MUSTER_COORDINATOR_TIMEOUT",
    "MUSTER_GLOO_SHARED_MEMORY",
    "MUSTER_INTERFACE",
    "MUSTER_JOB",
    "MUSTER_LOCAL_RANK",
    "MUSTER_LOG_LEVEL",
    "MUSTER_METRICS_LISTEN",
    "MUSTER_METRICS_PORT_FILE",
    "MUSTER_MUSTERD",
    "MUSTER_NCCL_RANKS_PER_ID",
    "MUSTER_NODE_COMMITS",
    "MUSTER_NODE_FANIN",
    "MUSTER_NODE_ID",
    "MUSTER_NODE_RANK",
    "MUSTER_PROCESS_SECRET",
    "MUSTER_RANK",
    "MUSTER_RESTART",
    "MUSTER_RESTART_COUNT",
    "MUSTER_RUNTIME_DIR",
    "MUSTER_TERMINATION_LOG",
    "MUSTER_TIMEOUT",
    "MUSTER_TLS_CA",
    "MUSTER_TLS_CERT",
    "MUSTER_TLS_KEY",
    "MUSTER_TLS_SERVER_NAME",
    "MUSTER_TOKEN_FILE",
    "MUSTER_TOPOLOGY",
    "MUSTER_WORLD_SIZE",
};

// Variables of musterd: one for variable flag, in addition to the variables above.
constexpr const char* kMusterdVariables[] = {
    "MUSTER_DEFAULT_WAIT_TIMEOUT",
    "MUSTER_DRAIN_TIME",
    "MUSTER_EXIT_WHEN_DONE",
    "MUSTER_INSECURE",
    "MUSTER_JOURNAL",
    "MUSTER_JOURNAL_MAX_BYTES",
    "MUSTER_KEEPALIVE_TIME",
    "MUSTER_KEEPALIVE_TIMEOUT",
    "MUSTER_LISTEN",
    "MUSTER_LOG_FORMAT",
    "MUSTER_MAX_ANSWER_BYTES",
    "MUSTER_MAX_GROUPS",
    "MUSTER_MAX_GROUP_RANKS",
    "MUSTER_MAX_HELD_BYTES",
    "MUSTER_MAX_LEASES",
    "MUSTER_MAX_LEASES_PER_MEMBER",
    "MUSTER_MAX_MEMBERS",
    "MUSTER_MAX_NAME_BYTES",
    "MUSTER_MAX_PAYLOAD_BYTES",
    "MUSTER_MAX_RESTARTS_TOTAL",
    "MUSTER_MAX_STORE_KEYS",
    "MUSTER_MAX_STORE_KEY_BYTES",
    "MUSTER_MAX_STORE_VALUE_BYTES",
    "MUSTER_MAX_WAITERS",
    "MUSTER_MAX_WAITERS_PER_MEMBER",
    "MUSTER_MAX_WORLD_SIZE",
    "MUSTER_MEMBER_GRACE",
    "MUSTER_MIN_WORLD_SIZE",
    "MUSTER_PORT_FILE",
    "MUSTER_RECOVERY_GRACE",
    "MUSTER_REJOIN_TIMEOUT",
    "MUSTER_SETTLE",
    "MUSTER_STALL_WARNING",
    "MUSTER_STORE_ANSWERS_WAIT_FOR_COPY",
    "MUSTER_TLS_CLIENT_CA",
    "MUSTER_TOKEN_OVERLAP",
};

// Variables of the scripts in tools/. Their user may have them set while jobs run.
constexpr const char* kToolVariables[] = {
    "MUSTER_CHECK_HOME",      "MUSTER_CUDA_HOME",    "MUSTER_DOCS_HOME",
    "MUSTER_KUBERNETES_HOME", "MUSTER_NCCL_SOURCES", "MUSTER_NCCL_SOURCE_HOME",
    "MUSTER_PEERS_HOME",      "MUSTER_PIC_HOME",     "MUSTER_PROMETHEUS_HOME",
    "MUSTER_WITHOUT_CUDA",
};

std::vector<std::string> AllNames() {
  std::vector<std::string> names(std::begin(kJobVariables), std::end(kJobVariables));
  names.insert(names.end(), std::begin(kMusterdVariables), std::end(kMusterdVariables));
  names.insert(names.end(), std::begin(kToolVariables), std::end(kToolVariables));
  std::sort(names.begin(), names.end());
  return names;
}

// Returns whether Kubernetes sets the variable for a Service. A Service "muster" gives containers
// MUSTER_SERVICE_HOST, MUSTER_SERVICE_PORT_GRPC, MUSTER_PORT_7370_TCP_ADDR and
// MUSTER_PORT=tcp://10.0.0.1:7370; "muster-coordinator" gives similar ones.
bool IsSetByKubernetes(absl::string_view name, absl::string_view value) {
  if (absl::EndsWith(name, "_SERVICE_HOST") || absl::StrContains(name, "_SERVICE_PORT")) {
    return true;
  }
  if (!absl::StrContains(name, "_PORT")) return false;
  for (const absl::string_view protocol : {"_TCP", "_UDP", "_SCTP"}) {
    if (absl::StrContains(name, protocol)) return true;
  }
  return absl::EndsWith(name, "_PORT") && absl::StrContains(value, "://");
}

// Compares without the prefix, which is right in all of these names.
std::string Nearest(absl::string_view name) {
  static const auto& known = *new std::vector<std::string>([] {
    std::vector<std::string> suffixes;
    for (const std::string& variable : KnownVariables())
      suffixes.push_back(variable.substr(strlen(kPrefix)));
    return suffixes;
  }());
  const std::string nearest = NearestName(std::string(name.substr(strlen(kPrefix))), known);
  return nearest.empty() ? "" : kPrefix + nearest;
}

std::string Warning(absl::string_view name) {
  const std::string nearest = Nearest(name);
  return absl::StrCat("the variable ", name, " means nothing to Muster; ",
                      nearest.empty() ? "docs/environment.md lists the known variables"
                                      : absl::StrCat("did you mean ", nearest, "?"));
}

}  // namespace

const std::vector<std::string>& KnownVariables() {
  static const auto& names = *new std::vector<std::string>(AllNames());
  return names;
}

bool IsKnownVariable(absl::string_view name, absl::string_view value) {
  if (!absl::StartsWith(name, kPrefix) || absl::StartsWith(name, kTestPrefix)) return true;
  const std::vector<std::string>& known = KnownVariables();
  return std::binary_search(known.begin(), known.end(), name) || IsSetByKubernetes(name, value);
}

std::vector<std::string> UnknownVariableWarnings(const std::vector<std::string>& environment) {
  std::vector<std::string> warnings;
  for (const std::string& variable : environment) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(variable, absl::MaxSplits('=', 1));
    if (!IsKnownVariable(parts.first, parts.second)) warnings.push_back(Warning(parts.first));
  }
  return warnings;
}

std::vector<std::string> UnknownVariableWarnings() {
  std::vector<std::string> environment;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    if (absl::StartsWith(*variable, kPrefix)) environment.push_back(*variable);
  }
  return UnknownVariableWarnings(environment);
}

}  // namespace muster
