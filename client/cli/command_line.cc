#include "client/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "muster/version.h"

namespace muster::cli {
namespace {

constexpr int kExitBadArguments = 2;

constexpr char kRunDetails[] = R"(Examples:
  muster run --nproc-per-node 4 -- ./train --epochs 3
  muster run --nnodes 2 --node-rank 0 --coordinator head:7370 --nproc-per-node 8 -- ./train

With one node and no --coordinator it starts a coordinator of its own (musterd) on the loopback
interface; its limits and log level can be set by the variables that 'musterd --help' names.

The world size is nnodes times nproc-per-node; a process's rank is
node-rank * nproc-per-node + its local rank. Standard input of all ranks is /dev/null.

Each rank finds in its environment MUSTER_COORDINATOR, MUSTER_JOB, MUSTER_LOCAL_RANK,
MUSTER_NODE_RANK, MUSTER_NODE_ID (if --node-id is given), MUSTER_INCARNATION, MUSTER_RESTART_COUNT,
MUSTER_WORLD_SIZE and MUSTER_RANK (but in an elastic job, where they may change), and as under torchrun RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, GROUP_RANK, MASTER_ADDR (the
coordinator's host) and MASTER_PORT (--master-port, else the coordinator's port).

SIGINT, SIGTERM, SIGHUP and SIGQUIT are passed on to the ranks; those that have not ended after
--grace, or at a second signal, get SIGKILL. When a rank fails the others are ended, unless it is
started again (--max-restarts) or the job can go on without it (--min-world-size). A coordinator of
its own that dies is started again, and the ranks go on. No process that a rank started is left
behind.

Exit status: 0 if all ranks ended with 0, or what failed was made good; else the status of the first that failed (128 and the
signal's number for a signal); 1 if the coordinator failed; 2 for bad arguments; 126 and 127 if the
program cannot be executed or found.)";

constexpr char kStatusDetails[] =
    R"(Exit status: 0; 1 if the coordinator cannot be reached; 2 for bad arguments.)";

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

void AddRun(CLI::App* app, RunFlags* flags) {
  CLI::App* run = app->add_subcommand(
      "run", "Starts this node's processes of a job and ends when they have ended");
  run->footer(kRunDetails);
  run->formatter(std::make_shared<HelpFormatter>("muster run [flags] -- program [arguments]"));
  run->add_option("--nproc-per-node", flags->nproc_per_node, "Processes on this node (default 1)")
      ->type_name("N");
  run->add_option("--nnodes", flags->nnodes,
                  "Nodes of the job (default 1); more than one need --coordinator\n"
                  "and --node-rank")
      ->type_name("N");
  run->add_option("--node-rank", flags->node_rank, "Which of the nodes this is, from 0")
      ->type_name("R");
  run->add_option("--node-id", flags->node_id,
                  "Name of this node: processes under one name share a file\n"
                  "system and GPUs (default: host name and boot id)")
      ->type_name("ID")
      ->envname("MUSTER_NODE_ID");
  run->add_option("--coordinator", flags->coordinator,
                  "Join the musterd at host:port or [ipv6]:port (default: start one)")
      ->type_name("ADDR");
  run->add_option("--job", flags->job,
                  "Job id (default: with --coordinator 'default', else a new one)")
      ->type_name("ID");
  run->add_option("--master-port", flags->master_port,
                  "What MASTER_PORT says, for programs that open a port of their\n"
                  "own there (default: the coordinator's port, which is taken)")
      ->type_name("PORT");
  run->add_flag("--no-prefix", flags->no_prefix,
                "Do not put '[rank] ' before each line of output; lines are kept\n"
                "whole either way, up to 1 MiB");
  run->add_option("--log-dir", flags->log_dir,
                  "Write each rank's output, unchanged, to DIR/rank-R.log too (made\n"
                  "if missing, overwritten); it is still shown")
      ->type_name("DIR");
  run->add_option("--failure-wait", flags->failure_wait,
                  "After a rank has failed, how long the others have to end by\n"
                  "themselves before SIGTERM (default " +
                      std::string(kDefaultFailureWait) + ")")
      ->type_name("DURATION");
  run->add_option("--grace", flags->grace,
                  "From the first signal to SIGKILL (default " + std::string(kDefaultGrace) + ")")
      ->type_name("DURATION");
  run->add_option("--max-restarts", flags->max_restarts,
                  "Start a rank that failed again, so often for all ranks of this\n"
                  "node together (default 0); its job must be elastic, as one is\n"
                  "with a coordinator of its own and any of these four flags")
      ->type_name("N");
  run->add_option("--min-world-size", flags->min_world_size,
                  "Go on after the loss of ranks with at least so many (default:\n"
                  "the world size)")
      ->type_name("N");
  run->add_option("--max-world-size", flags->max_world_size,
                  "Let further processes join up to so many (default: the world\n"
                  "size)")
      ->type_name("N");
  run->add_option("--settle", flags->settle,
                  "How long to wait for more ranks once there are enough (default:\n"
                  "musterd's)")
      ->type_name("DURATION");
  run->add_option("--musterd", flags->musterd,
                  "The coordinator to start (default: MUSTER_MUSTERD, else the one\n"
                  "next to muster or in PATH)")
      ->type_name("PATH");
}

void AddStatus(CLI::App* app, StatusFlags* flags) {
  CLI::App* status = app->add_subcommand(
      "status", "Shows a job's members, who waits in what and for whom, leases and failures");
  status->footer(kStatusDetails);
  status->formatter(std::make_shared<HelpFormatter>("muster status [flags]"));
  status
      ->add_option("--coordinator", flags->coordinator,
                   "Where musterd listens: host:port or [ipv6]:port")
      ->type_name("ADDR")
      ->envname("MUSTER_COORDINATOR");
  status->add_flag("--json", flags->json, "Print JSON: GetStatusResponse of the v1 protocol");
  status
      ->add_option("--watch", flags->watch,
                   std::string("Print again and again, at this interval (default ") +
                       kDefaultWatchInterval + ")")
      ->expected(0, 1)
      ->type_name("[INTERVAL]");
}

// Arguments are parsed from behind: CLI11 wants them so.
std::vector<std::string> Reversed(std::vector<std::string> arguments) {
  std::reverse(arguments.begin(), arguments.end());
  return arguments;
}

int Refuse(const std::string& text, const std::string& command) {
  std::cerr << "muster: " << text << "\nTry 'muster" << command << " --help'.\n";
  return kExitBadArguments;
}

}  // namespace

Command ParseCommandLine(int argc, char** argv) {
  const std::vector<std::string> all(argv + 1, argv + argc);
  const auto dashes = std::find(all.begin(), all.end(), "--");
  RunFlags run;
  StatusFlags status;
  CLI::App app("Launches the processes of a distributed job and shows its state.", "muster");
  app.set_version_flag("--version", std::string("muster ") + MUSTER_VERSION);
  app.formatter(std::make_shared<HelpFormatter>("muster run|status [flags]"));
  app.footer("'muster run --help' and 'muster status --help' say more.");
  app.require_subcommand(0, 1);
  AddRun(&app, &run);
  AddStatus(&app, &status);
  const auto refuse = [&app](const std::string& text) {
    const std::vector<CLI::App*> chosen = app.get_subcommands();
    return Exit{Refuse(text, chosen.empty() ? "" : " " + chosen[0]->get_name())};
  };
  try {
    app.parse(Reversed({all.begin(), dashes}));
  } catch (const CLI::Success& help) {
    return Exit{app.exit(help)};
  } catch (const CLI::ExtrasError&) {
    const char* hint = app.got_subcommand("run") ? "; the program comes after --" : "";
    return refuse(absl::StrCat(
        "unknown flag or argument: ", absl::StrJoin(app.remaining(/*recurse=*/true), " "), hint));
  } catch (const CLI::ParseError& error) {
    return refuse(error.what());
  }
  if (app.got_subcommand("run")) {
    if (dashes != all.end()) run.program.assign(dashes + 1, all.end());
    return run;
  }
  if (!app.got_subcommand("status")) {
    return refuse("a command is missing; expected run or status");
  }
  if (dashes != all.end()) return refuse("muster status starts no program");
  return status;
}

}  // namespace muster::cli
