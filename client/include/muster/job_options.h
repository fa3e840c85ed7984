#ifndef MUSTER_JOB_OPTIONS_H_
#define MUSTER_JOB_OPTIONS_H_

#include "muster/cxx17.h"

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace muster {

// How a process joins its job. Every field has a default; a default-constructed value is serial
// mode.
struct JobOptions {
  // Where musterd listens: "host:port", "[ipv6]:port". Empty: serial mode, a job of this one
  // process in which every call works. Serial mode is never a fall-back: a coordinator that is
  // named here and cannot be reached is an error. MUSTER_COORDINATOR.
  std::string coordinator;

  // The job's id; the daemon refuses members of another job. MUSTER_JOB.
  std::string job = "default";

  // Number of processes of the job. Unset: as the daemon or the other members say.
  // MUSTER_WORLD_SIZE.
  std::optional<int> world_size;

  // The global rank that this process must get. Either every process of the job asks for one, or
  // none does and the daemon assigns them. MUSTER_RANK.
  std::optional<int> rank;

  // Orders the processes of one node. MUSTER_LOCAL_RANK.
  std::optional<int> local_rank;

  // Orders the nodes. MUSTER_NODE_RANK.
  std::optional<int> node_rank;

  // What shares a file system and GPUs. Empty: host name and boot id. MUSTER_NODE_ID.
  std::string node_id;

  // Where the node is, "zone/rack/switch": orders nodes without a node rank, so that neighbours get
  // neighbouring ranks. MUSTER_TOPOLOGY.
  std::string topology;

  // 32 hexadecimal digits that prove to the coordinator that a caller is this start of the process,
  // or the launcher that reports its end (ReportExit). Whoever knows them can pass for it. Empty:
  // random. MUSTER_PROCESS_SECRET.
  std::string process_secret;

  // Default time-out of every waiting call, Join included. Generous, because the slowest rank's
  // data loading is what others wait for; a *lost* rank ends a wait at once. MUSTER_TIMEOUT ("30m",
  // "90s").
  absl::Duration timeout = absl::Minutes(30);

  // How long this process keeps trying to reach a coordinator that does not answer, before it gives
  // it up: then calls, and what communicators are doing, end with UNAVAILABLE.
  // MUSTER_COORDINATOR_TIMEOUT.
  absl::Duration coordinator_timeout = absl::Minutes(10);

  // Whether processes of one node arrive at collectives together, through shared memory, where they
  // can: one of them then calls the coordinator for all. MUSTER_NODE_FANIN (0, 1).
  bool node_fanin = true;

  // What this process shows the coordinator; docs/security.md. Files are read again when they
  // change. The first holds the job's token. MUSTER_TOKEN_FILE.
  std::string token_file;

  // TLS: PEM files with the authority that the coordinator's certificate must come from, and, where
  // the coordinator asks for one, this process's own certificate and key. Empty `tls_ca`: no TLS.
  // MUSTER_TLS_CA, MUSTER_TLS_CERT, MUSTER_TLS_KEY.
  std::string tls_ca;
  std::string tls_cert;
  std::string tls_key;

  // The name in the coordinator's certificate, where it is not the host of `coordinator`.
  // MUSTER_TLS_SERVER_NAME.
  std::string tls_server_name;

  // Options from the environment variables named above; unset variables leave the defaults. Rank,
  // world size, local rank, node rank and node id may also come from torchrun, Slurm, Open MPI, PMI
  // or Kubernetes' Indexed Job, asked in this order: docs/environment.md.
  // INVALID_ARGUMENT names a variable that is malformed, says what it holds and what was expected,
  // or names two variables that contradict each other.
  // FAILED_PRECONDITION if a variable says that there are several processes and no coordinator is
  // named: such a job would fall apart into serial ones.
  static absl::StatusOr<JobOptions> FromEnvironment();

  // INVALID_ARGUMENT names the first field that is out of range.
  absl::Status Validate() const;
};

}  // namespace muster

#endif  // MUSTER_JOB_OPTIONS_H_
