#include "client/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "client/cli/help_texts.h"
#include "client/cli/hints.h"
#include "common/completion.h"
#include "common/exit_codes.h"
#include "common/help_formatter.h"
#include "common/termination_log.h"
#include "muster/version.h"

namespace muster::cli {
namespace {

// CLI11 derives a usage line that knows nothing of "--".
class CommandHelp : public HelpFormatter {
 public:
  explicit CommandHelp(std::string usage) : usage_(std::move(usage)) { column_width(28); }
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: " + usage_ + "\n";
  }

 private:
  std::string usage_;
};

void AddPlaceFlags(CLI::App* run, RunFlags* flags) {
  run->add_option("--nproc-per-node", flags->nproc_per_node,
                  "Ranks on this node (default 1): a number; gpu, one per GPU; "
                  "cpu, one per CPU; or auto, gpu if there is one, else cpu")
      ->type_name("N");
  run->add_option("--nnodes", flags->nnodes,
                  "Nodes in the job (default 1); more than one requires "
                  "--coordinator and --node-rank")
      ->type_name("N");
  run->add_option("--node-rank", flags->node_rank, "This node's number, from 0")->type_name("R");
  run->add_option("--node-id", flags->node_id,
                  "This node's name; processes with the same name share a file "
                  "system and GPUs (default: host name and boot id)")
      ->type_name("ID")
      ->envname("MUSTER_NODE_ID");
  run->add_option("--coordinator", flags->coordinator,
                  "Join the musterd at host:port or [ipv6]:port (default: MUSTER_COORDINATOR; else "
                  "start one)")
      ->type_name("ADDR");
  run->add_option("--job", flags->job,
                  "Job id (default: MUSTER_JOB; else with --coordinator 'default', or under Slurm "
                  "slurm-JOB-RESTARTS; otherwise a new one)")
      ->type_name("ID");
  run->add_option("--master-port", flags->master_port,
                  "Value of MASTER_PORT, for programs that open a port of their "
                  "own (default: a free one; of several nodes one from 20000 to "
                  "29999 that all of them come to)")
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
      "Speak TLS; the coordinator's certificate is from the authority in this file "
      "(MUSTER_TLS_CA)")
      ->type_name("FILE");
  add("--tls-cert", &files->tls_cert, kTlsCertVariable,
      "Own certificate, where the coordinator asks for one (MUSTER_TLS_CERT)")
      ->type_name("FILE");
  add("--tls-key", &files->tls_key, kTlsKeyVariable, "Its key (MUSTER_TLS_KEY)")->type_name("FILE");
  add("--tls-server-name", &files->tls_server_name, kTlsServerNameVariable,
      "The name in the coordinator's certificate, where it is not its host "
      "(MUSTER_TLS_SERVER_NAME)")
      ->type_name("NAME");
}

void AddCoordinatorFlag(CLI::App* command, std::string* address) {
  command->add_option("--coordinator", *address, "Where musterd listens: host:port or [ipv6]:port")
      ->type_name("ADDR")
      ->envname("MUSTER_COORDINATOR");
}

void AddOutputFlags(CLI::App* run, RunFlags* flags) {
  run->add_flag(
      "--no-prefix", flags->no_prefix,
      "Do not put '[rank] ' before each line of output. Lines are kept whole either way, up to 1 "
      "MiB; of one that takes its time the beginning is shown before, without '[rank] ' on a "
      "terminal only");
  run->add_option("--log-dir", flags->log_dir,
                  "Also write each rank's output, without prefixes, to "
                  "DIR/rank-R.log (directory created if needed, files "
                  "overwritten). Output that the disk is too slow for is left "
                  "out there, with a note")
      ->type_name("DIR");
  run->add_option(
         "--debug-dir", flags->debug_dir,
         "When the job stands still or a collective times out, write what the ranks here are "
         "doing to DIR/hang-TIME/ (the first ten times; looks at them by gdb and py-spy "
         "where those are installed)")
      ->type_name("DIR");
}

void AddFailureFlags(CLI::App* run, RunFlags* flags) {
  run->add_option("--failure-wait", flags->failure_wait,
                  "After a failure, how long the remaining ranks have to exit on "
                  "their own before SIGTERM (default " +
                      absl::FormatDuration(launcher::kDefaultFailureWait) + ")")
      ->type_name("DURATION");
  run->add_option("--grace", flags->grace,
                  "Time from the first signal to SIGKILL (default " +
                      absl::FormatDuration(launcher::kDefaultGrace) + ")")
      ->type_name("DURATION");
  run->add_option("--max-restarts", flags->max_restarts,
                  "Restart failed ranks, at most N times per node (default 0). "
                  "The job must be elastic: without --coordinator, this and the "
                  "next three flags make it so")
      ->type_name("N");
  run->add_option("--min-world-size", flags->min_world_size,
                  "Keep going after losing ranks as long as N remain (default: "
                  "the world size)")
      ->type_name("N");
  run->add_option("--max-world-size", flags->max_world_size,
                  "Let more processes join, up to N in all (default: the world "
                  "size)")
      ->type_name("N");
  run->add_option("--settle", flags->settle,
                  "Once there are enough ranks, how long to wait for more "
                  "(default: musterd's)")
      ->type_name("DURATION");
}

void AddRun(CLI::App* app, RunFlags* flags) {
  CLI::App* run =
      app->add_subcommand("run", "Start this node's ranks of a job and wait for them to end");
  run->footer(kRunDetails);
  run->formatter(std::make_shared<CommandHelp>("muster run [flags] -- program [arguments]"));
  AddPlaceFlags(run, flags);
  // Variables are for --coordinator only, and read where that is known.
  AddCredentialFlags(run, &flags->credentials, /*variables=*/false);
  AddOutputFlags(run, flags);
  AddFailureFlags(run, flags);
  run->add_option("--metrics-listen", flags->metrics_listen,
                  "Show the job on a page and to Prometheus (/metrics) at host:port; :9100 is a "
                  "port that only this machine reaches, :0 a free one (MUSTER_METRICS_LISTEN). For "
                  "the coordinator that it starts")
      ->type_name("ADDR");
  run->add_option("--musterd", flags->musterd,
                  "The coordinator's program (default: MUSTER_MUSTERD, or the "
                  "musterd next to muster or in PATH)")
      ->type_name("PATH");
}

void AddStatus(CLI::App* app, StatusFlags* flags) {
  CLI::App* status = app->add_subcommand(
      "status", "Show a job's members, what they are waiting for, leases and failures");
  status->footer(kStatusDetails);
  status->formatter(std::make_shared<CommandHelp>("muster status [flags]"));
  AddCoordinatorFlag(status, &flags->coordinator);
  AddCredentialFlags(status, &flags->credentials, /*variables=*/true);
  status->add_option("--job", flags->job, "Show this job only (default: every one that is found)")
      ->type_name("ID");
  status->add_flag("--json", flags->json, "Print JSON (GetStatusResponse of the v1 protocol)");
  status->add_flag("--exit-code", flags->exit_code,
                   "End with 1 if the job has failed; --watch ends with the job then");
  status
      ->add_option("--watch", flags->watch,
                   std::string("Print the status repeatedly, at this interval (default ") +
                       kDefaultWatchInterval + ")")
      ->expected(0, 1)
      ->type_name("[INTERVAL]");
}

void AddDebug(CLI::App* app, DebugFlags* flags) {
  CLI::App* debug = app->add_subcommand(
      "debug", "Say why a job stands still, and gather what its ranks are doing");
  debug->footer(kDebugDetails);
  debug->formatter(std::make_shared<CommandHelp>("muster debug [flags]"));
  AddCoordinatorFlag(debug, &flags->coordinator);
  AddCredentialFlags(debug, &flags->credentials, /*variables=*/true);
  debug->add_option("--job", flags->job, "The job, where several are found")->type_name("ID");
  debug
      ->add_option("--output", flags->output,
                   "Where the bundle goes: a new folder, FILE.tar, FILE.tar.gz, or - for a tar on "
                   "standard output (default: a folder muster-hang-TIME here)")
      ->type_name("PATH");
  debug
      ->add_option(
          "--wait", flags->wait,
          "How long launchers have to send what they find (default 15s); the verdict waits "
          "for those that do not answer for 10s, whatever is given")
      ->type_name("DURATION");
}

void AddHealth(CLI::App* app, HealthFlags* flags) {
  CLI::App* health = app->add_subcommand("health", "Ask whether a coordinator serves");
  health->footer(kHealthDetails);
  health->formatter(std::make_shared<CommandHelp>("muster health [flags]"));
  AddCoordinatorFlag(health, &flags->coordinator);
  AddCredentialFlags(health, &flags->credentials, /*variables=*/true);
  health->add_option("--timeout", flags->timeout, "How long the answer may take (default 3s)")
      ->type_name("DURATION");
}

void AddReplay(CLI::App* app, ReplayFlags* flags) {
  CLI::App* replay =
      app->add_subcommand("replay", "Tell what has happened in a job, from musterd's journal");
  replay->footer(kReplayDetails);
  replay->formatter(std::make_shared<CommandHelp>("muster replay [flags] FILE"));
  replay->add_option("journal", flags->journal, "What musterd --journal has written")
      ->type_name("FILE")
      ->required();
  replay
      ->add_option("--at", flags->at,
                   "Show the status as it was then: end, a duration since the beginning (+1m30s), "
                   "or a time (2026-11-22T20:15:00Z)")
      ->type_name("WHEN");
  replay
      ->add_option("--trace", flags->trace,
                   "Write a trace that Perfetto and chrome://tracing open (-: on standard output); "
                   "up to --at, if that is given")
      ->type_name("OUT");
  replay->add_flag("--json", flags->json,
                   "Print JSON: one object for each line of the timeline, or the status "
                   "(GetStatusResponse of the v1 protocol)");
}

void AddToken(CLI::App* app) {
  CLI::App* token = app->add_subcommand("token", "Print a new token for a job's token file");
  token->footer("For example: (umask 077; muster token > token)");
  token->formatter(std::make_shared<CommandHelp>("muster token"));
}

void AddCompletion(CLI::App* app, std::string* shell) {
  CLI::App* completion =
      app->add_subcommand("completion", "Print a script that completes commands and flags");
  completion->footer("For example: source <(muster completion bash)");
  completion->formatter(std::make_shared<CommandHelp>("muster completion bash|zsh"));
  completion->add_option("shell", *shell, "bash or zsh")->required();
}

// Arguments are parsed from behind: CLI11 wants them so.
std::vector<std::string> Reversed(std::vector<std::string> arguments) {
  std::reverse(arguments.begin(), arguments.end());
  return arguments;
}

// What CLI11 could not place, and what may have been meant.
std::string DescribeExtras(const CLI::App& app) {
  const std::vector<std::string> extras = app.remaining(/*recurse=*/true);
  const std::vector<const CLI::App*> chosen =
      app.get_subcommands([](const CLI::App*) { return true; });
  const bool flag = absl::StartsWith(extras[0], "-");
  if (app.get_subcommands().empty() && !flag) {
    std::vector<std::string> commands;
    for (const CLI::App* command : chosen) commands.push_back(command->get_name());
    return absl::StrCat("unknown command: ", extras[0], HintForCommand(extras[0], commands));
  }
  std::vector<std::string> flags;
  for (const CLI::App* command : app.get_subcommands()) {
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
    }
  }
  const char* const program = app.got_subcommand("run") ? "; put the program after --" : "";
  const std::string hint = flag ? HintForFlag(extras[0], flags) : program;
  return absl::StrCat("unknown flag or argument: ", absl::StrJoin(extras, " "), hint);
}

int Refuse(const std::string& text, const std::string& command) {
  WriteTerminationLog(text);
  std::cerr << "muster: " << text << "\nTry 'muster" << command << " --help'.\n";
  return exit_codes::kBadConfiguration;
}

absl::StatusOr<Exit> PrintCompletion(const CLI::App& app, const std::string& shell) {
  const absl::StatusOr<std::string> script = CompletionScript(app, shell);
  if (!script.ok()) return script.status();
  std::cout << *script;
  return Exit{0};
}

}  // namespace

Command ParseCommandLine(int argc, char** argv) {
  const std::vector<std::string> all(argv + 1, argv + argc);
  const auto dashes = std::find(all.begin(), all.end(), "--");
  RunFlags run;
  StatusFlags status;
  DebugFlags debug;
  HealthFlags health;
  ReplayFlags replay;
  std::string shell;
  CLI::App app("Launch the processes of a distributed job and show its state.", "muster");
  app.set_version_flag("--version", std::string("muster ") + MUSTER_VERSION);
  app.formatter(std::make_shared<CommandHelp>(
      "muster run|status|debug|health|replay|token|completion [flags]"));
  app.footer("See 'muster run --help' and so on for details.");
  app.require_subcommand(0, 1);
  AddRun(&app, &run);
  AddStatus(&app, &status);
  AddDebug(&app, &debug);
  AddHealth(&app, &health);
  AddReplay(&app, &replay);
  AddToken(&app);
  AddCompletion(&app, &shell);
  const auto refuse = [&app](const std::string& text) {
    const std::vector<CLI::App*> chosen = app.get_subcommands();
    return Exit{Refuse(text, chosen.empty() ? "" : " " + chosen[0]->get_name())};
  };
  try {
    app.parse(Reversed({all.begin(), dashes}));
  } catch (const CLI::Success& help) {
    return Exit{app.exit(help)};
  } catch (const CLI::ExtrasError&) {
    return refuse(DescribeExtras(app));
  } catch (const CLI::ParseError& error) {
    return refuse(error.what());
  }
  if (app.got_subcommand("run")) {
    if (dashes != all.end()) run.program.assign(dashes + 1, all.end());
    return run;
  }
  if (app.get_subcommands().empty()) {
    return refuse(
        "no command given; expected run, status, debug, health, replay, token or completion");
  }
  const std::string name = app.get_subcommands()[0]->get_name();
  if (dashes != all.end()) return refuse(absl::StrCat("muster ", name, " takes no program"));
  if (name == "status") return status;
  if (name == "debug") return debug;
  if (name == "health") return health;
  if (name == "replay") return replay;
  if (name == "token") return PrintToken{};
  const absl::StatusOr<Exit> printed = PrintCompletion(app, shell);
  return printed.ok() ? *printed : refuse(std::string(printed.status().message()));
}

}  // namespace muster::cli
