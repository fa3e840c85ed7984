#ifndef MUSTER_CLIENT_CLI_HELP_TEXTS_H_
#define MUSTER_CLIENT_CLI_HELP_TEXTS_H_

// The texts of `muster COMMAND --help` below the flags.
namespace muster::cli {

inline constexpr char kRunDetails[] = R"(Examples:
  muster run --nproc-per-node 4 -- ./train --epochs 3
  muster run --nnodes 2 --node-rank 0 --coordinator head:7370 \
      --nproc-per-node 8 -- ./train

Flags come before the program. '--' may be left out, unless an argument of the program looks like a
flag of muster run. Flags may be written with underscores, as torchrun's are (--nproc_per_node).

Without --coordinator or MUSTER_COORDINATOR, on one node, it starts a
coordinator of its own (musterd) on the loopback interface and restarts it if it
dies. The coordinator asks for a token, which only its ranks get (the file of
MUSTER_TOKEN_FILE). 'musterd --help' lists the environment variables that set
its limits and its log level.

--nnodes, --node-rank, --nproc-per-node and --coordinator may also come from PET_NNODES,
PET_NODE_RANK, PET_NPROC_PER_NODE, PET_MASTER_ADDR and PET_MASTER_PORT (Kubeflow Trainer) or
LWS_GROUP_SIZE, LWS_WORKER_INDEX and LWS_LEADER_ADDRESS (LeaderWorkerSet).

The world size is nnodes * nproc-per-node. The rank of a process is
node-rank * nproc-per-node + local rank. If --nproc-per-node is a list, the world size is its sum, and
ranks are numbered node by node. All ranks read standard input from /dev/null.

Each rank's environment has MUSTER_COORDINATOR, MUSTER_JOB, MUSTER_LOCAL_RANK, MUSTER_NODE_RANK,
MUSTER_NODE_ID (with --node-id), MUSTER_PROCESS_SECRET and MUSTER_RESTART_COUNT, and, unless the job
is elastic, MUSTER_WORLD_SIZE and MUSTER_RANK. As under torchrun it also has RANK, WORLD_SIZE,
LOCAL_RANK, LOCAL_WORLD_SIZE, GROUP_RANK, MASTER_ADDR (the coordinator's host) and MASTER_PORT
(--master-port); no process listens there until the program does. PYTHONUNBUFFERED is 1 unless it is
set. MUSTER_BIND_TO is core or numa if the rank is bound. With --pmi=on it has PMI_FD, PMI_RANK, PMI_SIZE, PMI_ID, MPI_LOCALRANKID and MPI_LOCALNRANKS, as
under MPICH's mpiexec, or, if the program is linked with Open MPI and with --pmi=pmix, PMIX_NAMESPACE,
PMIX_RANK and others of a PMIx server. With --torch-store=loopback, MASTER_ADDR and MASTER_PORT are
127.0.0.1 and the port of this node's launcher, and with either kind of store,
TORCHELASTIC_USE_AGENT_STORE is True and TORCHELASTIC_RESTART_COUNT counts the restarts of the group.
On a terminal, or with --pty, a rank's standard output and error are a
pseudo-terminal that is as wide as yours less the prefix.

SIGINT, SIGTERM, SIGHUP and SIGQUIT are forwarded to the ranks and end the run: ranks that are still
running after --grace, or at a second signal, get SIGKILL. SIGUSR1, SIGUSR2 and SIGWINCH are
forwarded and change nothing else. SIGTSTP (Ctrl-Z) stops the ranks and the launcher, SIGCONT
continues them.

When a rank fails, here or on another node, the remaining ranks are ended, unless the failed one is
restarted (--max-restarts) or the job can go on without it (--min-world-size). A restart of the group
(--restart) ends all ranks of this node by SIGTERM, and by SIGKILL after --grace, and starts them
again. Each node restarts its own; if ranks of several nodes are in MPI, all nodes do. Processes that a rank
leaves in the background get SIGTERM when it is restarted and when the run ends, and SIGKILL after
--grace.

Exit status: 0 if every rank exited with 0, or was successfully restarted; otherwise the status of
the guilty rank, the first rank that failed with a code other than 75 and 76 (128 + N if signal N
killed it); the code of an MPI_Abort() on another node; 75 if the job failed because of a rank on
another node otherwise; 76 if the coordinator failed; 1 if
output was lost, or --bind-to cannot be done here; 64 for invalid arguments, or a token file or certificate that cannot be used; 77 if
this node cannot start the ranks (too many processes or open files); 126 or 127 if the program
cannot be executed or found; 141 if no process reads the output any more. The reason also goes to the
file that MUSTER_TERMINATION_LOG names, or to /dev/termination-log where there is one.)";

inline constexpr char kStatusDetails[] =
    R"(Without --coordinator or MUSTER_COORDINATOR it shows the jobs whose coordinators this user runs on
this machine, those of 'muster run' too: each musterd lists itself in MUSTER_RUNTIME_DIR, or in
muster/ of XDG_RUNTIME_DIR, or in /tmp/muster-UID.

On a terminal the tables fit its width; elsewhere each row is one line, unless COLUMNS says
otherwise.

With --watch it keeps running, and keeps trying, while the coordinator cannot be reached.

Exit status: 0; 1 if no coordinator runs here, or it cannot be reached or asks for other credentials, or the status
cannot be written, or with --exit-code if the job has failed; 64 for invalid arguments, or a token file or certificate that cannot be used.)";

inline constexpr char kDebugDetails[] =
    R"(Examples:
  muster debug --coordinator head:7370
  muster debug --coordinator head:7370 --output hang.tar

Every launcher of the job ('muster run', muster::Launch) inspects its ranks: where each thread waits
in the kernel and, if gdb or eu-stack is installed, in the program; the Python stacks, if py-spy is
installed; the last lines of output; the environment; and what NCCL's RAS says. The first line that
is printed is the verdict: which rank holds the others up, and what it is doing. The bundle has all
of it, verdict.txt first. While gdb inspects a rank, for a second or so, the rank stands still.

The bundle leaves out the values of variables and arguments whose names say that they are secrets:
AWS_*, *TOKEN*, *KEY*, *SECRET*, *PASSWORD*, *CREDENTIAL*. It cannot recognize secrets that a program
has written into its output: look through the bundle before you send it on.

Without --coordinator or MUSTER_COORDINATOR it asks the coordinator that this user runs on this
machine, as 'muster status' does.

Exit status: 0; 1 if no coordinator runs here, or it cannot be reached or asks for other credentials, or the bundle
cannot be written; 64 for invalid arguments, or a token file or certificate that cannot be used.)";

inline constexpr char kHealthDetails[] =
    R"(A probe for containers: asks grpc.health.v1, which needs no token, once.

Exit status: 0 if it serves; 1, with the reason, if not; 64 for invalid arguments, or a certificate
that cannot be used.)";

inline constexpr char kCompletionDetails[] =
    R"(For example: source <(muster completion bash)

'jobs' prints the names of the jobs whose coordinators this user runs on this machine, a line each:
the scripts offer them for --job.)";

inline constexpr char kReplayDetails[] =
    R"(Replays what musterd --journal FILE has recorded, and prints one line for each event, with the time
since the beginning: processes that attached, epochs that formed, what the daemon logged. Repeated
events are one line with a count. The segments before FILE (FILE.1, FILE.2, ...) are read too, the
oldest first; name one segment to see it alone.

A journal has no payloads, but their sizes. With --at, ages count to that time.

Examples:
  muster replay journal
  muster replay --at +12m30s journal      the status as it was
  muster replay --trace trace.json journal    for https://ui.perfetto.dev

Exit status: 0; 1 if the journal cannot be replayed to its end, because it is damaged or because this
muster decides otherwise than the musterd that wrote it (the last line says which); 64 for invalid
arguments, or a file that is not a journal, cannot be read, or has a newer format.)";

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_HELP_TEXTS_H_
