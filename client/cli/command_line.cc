#include "client/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "common/exit_codes.h"
#include "common/termination_log.h"
#include "muster/version.h"

namespace muster::cli {
namespace {

constexpr char kRunDetails[] = R"(Examples:
  muster run --nproc-per-node 4 -- ./train --epochs 3
  muster run --nnodes 2 --node-rank 0 --coordinator head:7370 --nproc-per-node 8 -- ./train

Without --coordinator, on one node, it starts a coordinator of its own (musterd) on the loopback
interface and restarts it if it dies; only its ranks get the token that it asks for (the file of
MUSTER_TOKEN_FILE). 'musterd --help' lists the environment variables that set its limits and its log
level.

--nnodes, --node-rank, --nproc-per-node and --coordinator may also come from PET_NNODES,
PET_NODE_RANK, PET_NPROC_PER_NODE, PET_MASTER_ADDR and PET_MASTER_PORT (Kubeflow Trainer) or
LWS_GROUP_SIZE, LWS_WORKER_INDEX and LWS_LEADER_ADDRESS (LeaderWorkerSet).

The world size is nnodes * nproc-per-node. The rank of a process is
node-rank * nproc-per-node + local rank. All ranks read standard input from /dev/null.

Each rank's environment has MUSTER_COORDINATOR, MUSTER_JOB, MUSTER_LOCAL_RANK, MUSTER_NODE_RANK,
MUSTER_NODE_ID (with --node-id), MUSTER_PROCESS_SECRET and MUSTER_RESTART_COUNT, and, unless the job
is elastic, MUSTER_WORLD_SIZE and MUSTER_RANK. As under torchrun it also has RANK, WORLD_SIZE,
LOCAL_RANK, LOCAL_WORLD_SIZE, GROUP_RANK, MASTER_ADDR (the coordinator's host) and MASTER_PORT
(--master-port, or the coordinator's port).

SIGINT, SIGTERM, SIGHUP and SIGQUIT are forwarded to the ranks and end the run: ranks that are still
running after --grace, or at a second signal, get SIGKILL. SIGUSR1, SIGUSR2 and SIGWINCH are
forwarded and change nothing else. SIGTSTP (Ctrl-Z) stops the ranks and the launcher, SIGCONT
continues them.

When a rank fails, here or on another node, the remaining ranks are ended, unless the failed one is
restarted (--max-restarts) or the job can go on without it (--min-world-size). Processes that a rank
leaves in the background get SIGTERM when it is restarted and when the run ends, and SIGKILL after
--grace.

Exit status: 0 if every rank exited with 0 or its failure was made up for; otherwise the status of
the guilty rank, the first that failed with another one than 75 and 76 (128 + N if signal N killed
it); 75 if the job failed because of a rank on another node; 76 if the coordinator failed; 1 if
output was lost; 64 for invalid arguments, or a token file or certificate that cannot be used; 77 if
this node cannot start the ranks (too many processes or open files); 126 or 127 if the program
cannot be executed or found; 141 if nobody reads the output any more. The reason also goes to the
file that MUSTER_TERMINATION_LOG names, or to /dev/termination-log where there is one.)";

constexpr char kStatusDetails[] =
    R"(With --watch it keeps running, and keeps trying, while the coordinator cannot be reached.

Exit status: 0; 1 if the coordinator cannot be reached or asks for other credentials, or the status
cannot be written; 64 for invalid arguments, or a token file or certificate that cannot be used.)";

constexpr char kHealthDetails[] =
    R"(A probe for containers: asks grpc.health.v1, which needs no token, once.

Exit status: 0 if it serves; 1, with the reason, if not; 64 for invalid arguments, or a certificate
that cannot be used.)";

// CLI11 derives a usage line that knows nothing of "--".
class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(std::string usage) : usage_(std::move(usage)) {}
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: " + usage_ + "\n";
  }

 private:
  std::string usage_;
};

void AddPlaceFlags(CLI::App* run, RunFlags* flags) {
  run->add_option("--nproc-per-node", flags->nproc_per_node,
                  "Ranks on this node (default 1): a number; gpu, one per GPU;\n"
                  "cpu, one per CPU; or auto, gpu if there is one, else cpu")
      ->type_name("N");
  run->add_option("--nnodes", flags->nnodes,
                  "Nodes in the job (default 1); more than one requires\n"
                  "--coordinator and --node-rank")
      ->type_name("N");
  run->add_option("--node-rank", flags->node_rank, "This node's number, from 0")->type_name("R");
  run->add_option("--node-id", flags->node_id,
                  "This node's name; processes with the same name share a file\n"
                  "system and GPUs (default: host name and boot id)")
      ->type_name("ID")
      ->envname("MUSTER_NODE_ID");
  run->add_option("--coordinator", flags->coordinator,
                  "Join the musterd at host:port or [ipv6]:port (default: start\n"
                  "one)")
      ->type_name("ADDR");
  run->add_option("--job", flags->job,
                  "Job id (default: with --coordinator 'default', or under Slurm\n"
                  "slurm-JOB-RESTARTS; otherwise a new one)")
      ->type_name("ID");
  run->add_option("--master-port", flags->master_port,
                  "Value of MASTER_PORT, for programs that open a port of their\n"
                  "own (default: the coordinator's port, which is in use)")
      ->type_name("PORT");
}

// Flags of the files that a caller shows; each has its variable where `variables`.
void AddCredentialFlags(CLI::App* command, CredentialFiles* files, bool variables) {
  const auto add = [&](const char* flag, std::string* value, const char* variable,
                       const std::string& help) {
    CLI::Option* const option = command->add_option(flag, *value, help);
    if (variables) option->envname(variable);
    return option;
  };
  add("--token-file", &files->token_file, kTokenFileVariable,
      "The file with the coordinator's token (MUSTER_TOKEN_FILE)")
      ->type_name("FILE");
  add("--tls-ca", &files->tls_ca, kTlsCaVariable,
      "Speak TLS; the coordinator's certificate is from the authority\nin this file "
      "(MUSTER_TLS_CA)")
      ->type_name("FILE");
  add("--tls-cert", &files->tls_cert, kTlsCertVariable,
      "Own certificate, where the coordinator asks for one\n(MUSTER_TLS_CERT)")
      ->type_name("FILE");
  add("--tls-key", &files->tls_key, kTlsKeyVariable, "Its key (MUSTER_TLS_KEY)")->type_name("FILE");
  add("--tls-server-name", &files->tls_server_name, kTlsServerNameVariable,
      "The name in the coordinator's certificate, where it is not its\nhost "
      "(MUSTER_TLS_SERVER_NAME)")
      ->type_name("NAME");
}

void AddCoordinatorFlag(CLI::App* command, std::string* address) {
  command->add_option("--coordinator", *address, "Where musterd listens: host:port or [ipv6]:port")
      ->type_name("ADDR")
      ->envname("MUSTER_COORDINATOR");
}

void AddOutputFlags(CLI::App* run, RunFlags* flags) {
  run->add_flag("--no-prefix", flags->no_prefix,
                "Do not put '[rank] ' before each line of output. Lines are\n"
                "kept whole either way, up to 1 MiB");
  run->add_option("--log-dir", flags->log_dir,
                  "Also write each rank's output, without prefixes, to\n"
                  "DIR/rank-R.log (directory created if needed, files\n"
                  "overwritten). Output that the disk is too slow for is left\n"
                  "out there, with a note")
      ->type_name("DIR");
}

void AddFailureFlags(CLI::App* run, RunFlags* flags) {
  run->add_option("--failure-wait", flags->failure_wait,
                  "After a failure, how long the remaining ranks have to exit on\n"
                  "their own before SIGTERM (default " +
                      absl::FormatDuration(launcher::kDefaultFailureWait) + ")")
      ->type_name("DURATION");
  run->add_option("--grace", flags->grace,
                  "Time from the first signal to SIGKILL (default " +
                      absl::FormatDuration(launcher::kDefaultGrace) + ")")
      ->type_name("DURATION");
  run->add_option("--max-restarts", flags->max_restarts,
                  "Restart failed ranks, at most N times per node (default 0).\n"
                  "The job must be elastic: without --coordinator, this and the\n"
                  "next three flags make it so")
      ->type_name("N");
  run->add_option("--min-world-size", flags->min_world_size,
                  "Keep going after losing ranks as long as N remain (default:\n"
                  "the world size)")
      ->type_name("N");
  run->add_option("--max-world-size", flags->max_world_size,
                  "Let more processes join, up to N in all (default: the world\n"
                  "size)")
      ->type_name("N");
  run->add_option("--settle", flags->settle,
                  "Once there are enough ranks, how long to wait for more\n"
                  "(default: musterd's)")
      ->type_name("DURATION");
}

void AddRun(CLI::App* app, RunFlags* flags) {
  CLI::App* run =
      app->add_subcommand("run", "Start this node's ranks of a job and wait for them to end");
  run->footer(kRunDetails);
  run->formatter(std::make_shared<HelpFormatter>("muster run [flags] -- program [arguments]"));
  AddPlaceFlags(run, flags);
  // Variables are for --coordinator only, and read where that is known.
  AddCredentialFlags(run, &flags->credentials, /*variables=*/false);
  AddOutputFlags(run, flags);
  AddFailureFlags(run, flags);
  run->add_option("--musterd", flags->musterd,
                  "The coordinator's program (default: MUSTER_MUSTERD, or the\n"
                  "musterd next to muster or in PATH)")
      ->type_name("PATH");
}

void AddStatus(CLI::App* app, StatusFlags* flags) {
  CLI::App* status = app->add_subcommand(
      "status", "Show a job's members, what they are waiting for, leases and failures");
  status->footer(kStatusDetails);
  status->formatter(std::make_shared<HelpFormatter>("muster status [flags]"));
  AddCoordinatorFlag(status, &flags->coordinator);
  AddCredentialFlags(status, &flags->credentials, /*variables=*/true);
  status->add_flag("--json", flags->json, "Print JSON (GetStatusResponse of the v1 protocol)");
  status
      ->add_option("--watch", flags->watch,
                   std::string("Print the status repeatedly, at this interval (default ") +
                       kDefaultWatchInterval + ")")
      ->expected(0, 1)
      ->type_name("[INTERVAL]");
}

void AddHealth(CLI::App* app, HealthFlags* flags) {
  CLI::App* health = app->add_subcommand("health", "Ask whether a coordinator serves");
  health->footer(kHealthDetails);
  health->formatter(std::make_shared<HelpFormatter>("muster health [flags]"));
  AddCoordinatorFlag(health, &flags->coordinator);
  AddCredentialFlags(health, &flags->credentials, /*variables=*/true);
  health->add_option("--timeout", flags->timeout, "How long the answer may take (default 3s)")
      ->type_name("DURATION");
}

void AddToken(CLI::App* app) {
  CLI::App* token = app->add_subcommand("token", "Print a new token for a job's token file");
  token->footer("For example: (umask 077; muster token > token)");
  token->formatter(std::make_shared<HelpFormatter>("muster token"));
}

// Arguments are parsed from behind: CLI11 wants them so.
std::vector<std::string> Reversed(std::vector<std::string> arguments) {
  std::reverse(arguments.begin(), arguments.end());
  return arguments;
}

int Refuse(const std::string& text, const std::string& command) {
  WriteTerminationLog(text);
  std::cerr << "muster: " << text << "\nTry 'muster" << command << " --help'.\n";
  return exit_codes::kBadConfiguration;
}

}  // namespace

Command ParseCommandLine(int argc, char** argv) {
  const std::vector<std::string> all(argv + 1, argv + argc);
  const auto dashes = std::find(all.begin(), all.end(), "--");
  RunFlags run;
  StatusFlags status;
  HealthFlags health;
  CLI::App app("Launch the processes of a distributed job and show its state.", "muster");
  app.set_version_flag("--version", std::string("muster ") + MUSTER_VERSION);
  app.formatter(std::make_shared<HelpFormatter>("muster run|status|health|token [flags]"));
  app.footer("See 'muster run --help' and so on for details.");
  app.require_subcommand(0, 1);
  AddRun(&app, &run);
  AddStatus(&app, &status);
  AddHealth(&app, &health);
  AddToken(&app);
  const auto refuse = [&app](const std::string& text) {
    const std::vector<CLI::App*> chosen = app.get_subcommands();
    return Exit{Refuse(text, chosen.empty() ? "" : " " + chosen[0]->get_name())};
  };
  try {
    app.parse(Reversed({all.begin(), dashes}));
  } catch (const CLI::Success& help) {
    return Exit{app.exit(help)};
  } catch (const CLI::ExtrasError&) {
    const char* hint = app.got_subcommand("run") ? "; put the program after --" : "";
    return refuse(absl::StrCat(
        "unknown flag or argument: ", absl::StrJoin(app.remaining(/*recurse=*/true), " "), hint));
  } catch (const CLI::ParseError& error) {
    return refuse(error.what());
  }
  if (app.got_subcommand("run")) {
    if (dashes != all.end()) run.program.assign(dashes + 1, all.end());
    return run;
  }
  if (app.get_subcommands().empty()) {
    return refuse("no command given; expected run, status, health or token");
  }
  const std::string name = app.get_subcommands()[0]->get_name();
  if (dashes != all.end()) return refuse(absl::StrCat("muster ", name, " takes no program"));
  if (name == "status") return status;
  if (name == "health") return health;
  return PrintToken{};
}

}  // namespace muster::cli
