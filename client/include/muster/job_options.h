#ifndef MUSTER_JOB_OPTIONS_H_
#define MUSTER_JOB_OPTIONS_H_

#include "muster/cxx17.h"

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

// How a process joins its job. Programs usually take all of it from the environment, which
// `muster run` and Kubernetes fill in, and change what they must:
//
//   absl::StatusOr<muster::JobOptions> options = muster::JobOptions::FromEnvironment();
//   if (options.ok()) options->timeout = absl::Minutes(5);
//   absl::StatusOr<std::unique_ptr<muster::Job>> job = muster::Job::Join(options);
namespace muster {

// Every field has a default. A default-constructed value means serial mode. Each field names the
// environment variable that sets it; docs/environment.md lists them all.
struct JobOptions {
  // The address of musterd: "host:port" or "[ipv6]:port". Empty: serial mode, a job of this process
  // alone, in which every call works. Muster never falls back to serial mode: if the coordinator
  // cannot be reached, Join() returns an error. MUSTER_COORDINATOR.
  std::string coordinator;

  // The job's id; the daemon refuses members of another job. MUSTER_JOB.
  std::string job = "default";

  // Number of processes in the job. Unset: the size that the daemon or the other members give.
  // MUSTER_WORLD_SIZE.
  std::optional<int> world_size;

  // The rank that this process must get. Either every process of the job asks for a rank, or no
  // process does and the daemon assigns them. MUSTER_RANK.
  std::optional<int> rank;

  // The place of this process among the processes of its node. MUSTER_LOCAL_RANK.
  std::optional<int> local_rank;

  // The place of this node among the nodes. MUSTER_NODE_RANK.
  std::optional<int> node_rank;

  // The name of the node: processes with the same name share a file system and GPUs. Empty: host
  // name and boot id. MUSTER_NODE_ID.
  std::string node_id;

  // The location of the node: "zone/rack/switch". Nodes without a node rank are ordered by it, so
  // that neighbouring nodes get neighbouring ranks. MUSTER_TOPOLOGY.
  std::string topology;

  // The secret of this process: 32 hexadecimal digits. It proves to the coordinator that a caller
  // is this process, or the launcher that reports its end (ReportExit). Keep it private: a process
  // that knows it can impersonate this one. Empty: random. MUSTER_PROCESS_SECRET.
  std::string process_secret;

  // The default time-out of every call that waits, including Join(). It is long, because ranks wait
  // for each other's data loading. A lost rank ends a wait at once, whatever the time-out.
  // MUSTER_TIMEOUT ("30m", "90s").
  absl::Duration timeout = absl::Minutes(30);

  // How long this process keeps trying to reach a coordinator that does not answer. Then calls, and
  // the operations of communicators, end with UNAVAILABLE. MUSTER_COORDINATOR_TIMEOUT.
  absl::Duration coordinator_timeout = absl::Minutes(10);

  // Whether this process takes part in node fan-in: the processes of a node arrive at a collective
  // through shared memory, and one of them calls the coordinator for all. MUSTER_NODE_FANIN (0, 1).
  bool node_fanin = true;

  // Whether a collective may complete on the node, if all ranks of its group are there and arrive
  // at about the same time. The coordinator hears of it shortly afterwards. Needs node_fanin, and
  // both on all of these ranks. MUSTER_NODE_COMMITS (0, 1).
  bool node_commits = true;

  // The file with the job's token, which the coordinator checks: docs/security.md. This file and
  // the files below are read again when they change. MUSTER_TOKEN_FILE.
  std::string token_file;

  // PEM files for TLS: the authority that must have signed the coordinator's certificate, and this
  // process's own certificate and key, if the coordinator requires them. Empty `tls_ca`: no TLS.
  // MUSTER_TLS_CA, MUSTER_TLS_CERT, MUSTER_TLS_KEY.
  std::string tls_ca;
  std::string tls_cert;
  std::string tls_key;

  // The name in the coordinator's certificate, if it is not the host of `coordinator`.
  // MUSTER_TLS_SERVER_NAME.
  std::string tls_server_name;

  // Returns the options that the environment variables above set; an unset variable leaves the
  // default. Rank, world size, local rank, node rank and node id may also come from the variables
  // of torchrun, Slurm, Open MPI, PMI or a Kubernetes Indexed Job, in this order:
  // docs/environment.md.
  //   INVALID_ARGUMENT     a variable is malformed, and the error says what it holds and what was
  //                        expected; or two variables contradict each other;
  //   FAILED_PRECONDITION  a variable says that the job has several processes, but no variable
  //                        names a coordinator. Each process would run a serial job of its own.
  static absl::StatusOr<JobOptions> FromEnvironment();

  // Returns INVALID_ARGUMENT, which names the first field that is out of range, or OK.
  absl::Status Validate() const;
};

}  // namespace muster

#endif  // MUSTER_JOB_OPTIONS_H_
