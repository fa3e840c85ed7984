#include "client/src/environment/read_job_options.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/src/environment/process_placement.h"
#include "common/credentials/credential_files.h"
#include "common/process/cluster_variables.h"

namespace muster::internal {
namespace {

// Reads the cluster's variables. Muster's own variables override them.
void ReadWorkload(const Variables& variables, JobOptions* options) {
  if (StartedByMuster(variables)) return;
  const auto get = Getter(variables);
  if (const std::string job = ClusterJobId(get); !job.empty()) options->job = job;
  if (const std::optional<ClusterPlacement> place = FindClusterPlacement(get)) {
    options->coordinator = place->coordinator;
  }
}

absl::Status ReadOwnVariables(const Variables& variables, JobOptions* options) {
  VariableReader reader(variables);
  reader.Read("MUSTER_COORDINATOR", "host:port or [ipv6]:port", &options->coordinator);
  reader.Read("MUSTER_JOB", "the job's id", &options->job);
  reader.Read("MUSTER_TOPOLOGY", "zone/rack/switch", &options->topology);
  reader.Read("MUSTER_PROCESS_SECRET", "32 hexadecimal digits", &options->process_secret);
  reader.Read(kTokenFileVariable, "the path of a token file", &options->token_file);
  reader.Read(kTlsCaVariable, "the path of a PEM file", &options->tls_ca);
  reader.Read(kTlsCertVariable, "the path of a PEM file", &options->tls_cert);
  reader.Read(kTlsKeyVariable, "the path of a PEM file", &options->tls_key);
  reader.Read(kTlsServerNameVariable, "a host name", &options->tls_server_name);
  reader.Read("MUSTER_TIMEOUT", &options->timeout);
  reader.Read("MUSTER_COORDINATOR_TIMEOUT", &options->coordinator_timeout);
  reader.Read("MUSTER_NODE_FANIN", &options->node_fanin);
  reader.Read("MUSTER_NODE_COMMITS", &options->node_commits);
  return reader.status();
}

std::optional<int> Value(const std::optional<VariableNumber>& number) {
  if (!number) return std::nullopt;
  return number->value;
}

void Fill(const Placement& placement, JobOptions* options) {
  options->rank = Value(placement.rank);
  options->world_size = Value(placement.world_size);
  options->local_rank = Value(placement.local_rank);
  options->node_rank = Value(placement.node_rank);
  options->node_id = placement.node_id;
}

absl::Status RefuseToRunAlone(absl::string_view what) {
  return absl::FailedPreconditionError(
      absl::StrCat(what,
                   ", but MUSTER_COORDINATOR is not set, and without a coordinator each would run "
                   "alone; set it to host:port of musterd, or use muster run"));
}

// A process that is one of several must not run as a job of its own.
absl::Status RefuseAccidentalSerialMode(const Placement& placement) {
  if (placement.world_size && placement.world_size->value > 1) {
    return RefuseToRunAlone(absl::StrCat(placement.world_size->variable, " says that the job has ",
                                         placement.world_size->value, " processes"));
  }
  if (placement.rank && placement.rank->value > 0) {
    return RefuseToRunAlone(absl::StrCat(placement.rank->variable,
                                         " says that this process is rank ", placement.rank->value,
                                         " of several"));
  }
  return absl::OkStatus();
}

}  // namespace

const std::vector<std::string>& OptionVariables() {
  static const auto* const names =
      new std::vector<std::string>{"MUSTER_COORDINATOR",    "MUSTER_JOB",
                                   "MUSTER_RANK",           "MUSTER_WORLD_SIZE",
                                   "MUSTER_LOCAL_RANK",     "MUSTER_NODE_RANK",
                                   "MUSTER_NODE_ID",        "MUSTER_TOPOLOGY",
                                   "MUSTER_TIMEOUT",        "MUSTER_COORDINATOR_TIMEOUT",
                                   "MUSTER_NODE_FANIN",     "MUSTER_NODE_COMMITS",
                                   "MUSTER_PROCESS_SECRET", kTokenFileVariable,
                                   kTlsCaVariable,          kTlsCertVariable,
                                   kTlsKeyVariable,         kTlsServerNameVariable};
  return *names;
}

absl::StatusOr<JobOptions> ReadJobOptions(const Variables& variables) {
  JobOptions options;
  ReadWorkload(variables, &options);
  absl::Status status = ReadOwnVariables(variables, &options);
  if (!status.ok()) return status;
  const absl::StatusOr<Placement> placement = ReadPlacement(variables);
  if (!placement.ok()) return placement.status();
  Fill(*placement, &options);
  status = options.Validate();
  if (options.coordinator.empty()) status.Update(RefuseAccidentalSerialMode(*placement));
  if (!status.ok()) return status;
  return options;
}

}  // namespace muster::internal
