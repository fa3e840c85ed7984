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
#include "client/cli/flags/hints.h"
#include "client/cli/flags/run_arguments.h"
#include "client/cli/help_texts.h"
#include "common/process/exit_codes.h"
#include "common/process/local_coordinators.h"
#include "common/process/termination_log.h"
#include "common/text/completion.h"
#include "common/text/help_formatter.h"
#include "muster/version.h"

namespace muster::cli {
namespace {

using Strings = std::vector<std::string>;

std::string VersionLine() { return absl::StrCat("muster ", MUSTER_VERSION); }

// The help of a command. CLI11's own usage line does not mention the program.
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
                  "cpu, one per CPU; auto, gpu if there is one, else cpu; or, if "
                  "nodes differ, a list with a number for each node, such as 4,4,2, "
                  "the same on all of them")
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
  run->add_option("--bind-to", flags->bind_to,
                  "Bind each rank to CPUs, near its GPU: core, a core of its own with all its "
                  "hardware threads; numa, all cores of a NUMA node; none (default none)")
      ->type_name("TARGET");
  run->add_option("--coordinator", flags->coordinator,
                  "Join the musterd at host:port or [ipv6]:port (default: MUSTER_COORDINATOR; else "
                  "start one)")
      ->type_name("ADDR");
  run->add_option("--job", flags->job,
                  "Job id (default: MUSTER_JOB; else with --coordinator 'default', or under Slurm "
                  "slurm-JOB-RESTARTS; otherwise a new one)")
      ->type_name("ID");
  run->add_option(
         "--master-port", flags->master_port,
         "Value of MASTER_PORT, for programs that open a port of their own (default: a free port; "
         "with several nodes a port from 20000 to 29999 that all of them compute)")
      ->type_name("PORT");
}

// Adds the flags for credential files. With `variables`, each may also come from its environment
// variable.
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
      "Certificate to show, if the coordinator asks for one (MUSTER_TLS_CERT)")
      ->type_name("FILE");
  add("--tls-key", &files->tls_key, kTlsKeyVariable, "Key of that certificate (MUSTER_TLS_KEY)")
      ->type_name("FILE");
  add("--tls-server-name", &files->tls_server_name, kTlsServerNameVariable,
      "The name in the coordinator's certificate, if it is not the host in the address "
      "(MUSTER_TLS_SERVER_NAME)")
      ->type_name("NAME");
}

// Adds --coordinator, and the address as an argument, as in "muster status head:7370".
void AddCoordinatorFlag(CLI::App* command, std::string* coordinator, std::string* address) {
  command
      ->add_option("--coordinator", *coordinator, "Where musterd listens: host:port or [ipv6]:port")
      ->type_name("ADDR")
      ->envname("MUSTER_COORDINATOR");
  command->add_option("address", *address, "Where musterd listens, in place of --coordinator")
      ->type_name("ADDR");
}

void AddOutputFlags(CLI::App* run, RunFlags* flags) {
  run->add_flag(
      "--no-prefix", flags->no_prefix,
      "Do not put '[rank] ' before each line of output. Lines stay whole either way, up to 1 MiB; "
      "without '[rank] ', a terminal shows the beginning of an unfinished line");
  run->add_flag("--pty", flags->pty,
                "Run each rank on a pseudo-terminal, so that programs write each line at once "
                "(default: for output that goes to a terminal)");
  run->add_flag("--no-pty", flags->no_pty, "Run ranks on pipes, also on a terminal");
  run->add_option("--log-dir", flags->log_dir,
                  "Also write each rank's output, without prefixes, to DIR/rank-R.log (directory "
                  "created if needed, files overwritten). If the disk is too slow, parts of the "
                  "output are left out there, with a note")
      ->type_name("DIR");
  run->add_option(
         "--debug-dir", flags->debug_dir,
         "When the job hangs or a collective times out, write what the ranks here are doing to "
         "DIR/hang-TIME/ (the first ten times; with gdb and py-spy, if they are installed)")
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
  run->add_option("--restart", flags->restart,
                  "What --max-restarts restarts: the failed 'rank', or the 'group', all ranks of "
                  "this node, which counts as one restart. 'auto' is group while no process has "
                  "joined the job, as in programs that do not use Muster, else rank (default auto)")
      ->type_name("SCOPE")
      ->envname("MUSTER_RESTART");
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
  run->formatter(std::make_shared<CommandHelp>("muster run [flags] [--] program [arguments]"));
  AddPlaceFlags(run, flags);
  // The variables apply only with --coordinator, and RunRunCommand() reads them.
  AddCredentialFlags(run, &flags->credentials, /*variables=*/false);
  AddOutputFlags(run, flags);
  AddFailureFlags(run, flags);
  run->add_option("--metrics-listen", flags->metrics_listen,
                  "Serve a status page, and metrics for Prometheus (/metrics), at host:port; :9100 "
                  "is a port that only this machine reaches, :0 a free one "
                  "(MUSTER_METRICS_LISTEN). Only for a coordinator that muster run starts")
      ->type_name("ADDR");
  run->add_option(
         "--pmi", flags->pmi,
         "How MPI programs get their ranks: 'on' serves PMIx to programs that are linked with Open "
         "MPI, and PMI-1, of MPICH and Intel MPI, to all others; 'pmix' serves PMIx to scripts, "
         "too; "
         "'off' serves nothing (default on)")
      ->type_name("MODE");
  run->add_option(
         "--torch-store", flags->torch_store,
         "Where PyTorch programs find their store, in place of rank 0: 'loopback' serves it in the "
         "launcher of each node, at a port of the loopback interface; 'node0' in the launcher of "
         "node 0 alone, to all who reach its MASTER_PORT; 'off' leaves it to rank 0 (default off)")
      ->type_name("WHERE");
  run->add_option("--musterd", flags->musterd,
                  "The coordinator's program (default: MUSTER_MUSTERD, or the "
                  "musterd next to muster or in PATH)")
      ->type_name("PATH");
}

void AddStatus(CLI::App* app, StatusFlags* flags, std::string* address) {
  CLI::App* status = app->add_subcommand(
      "status", "Show a job's members, what they are waiting for, leases and failures");
  status->footer(kStatusDetails);
  status->formatter(std::make_shared<CommandHelp>("muster status [flags] [address]"));
  AddCoordinatorFlag(status, &flags->coordinator, address);
  AddCredentialFlags(status, &flags->credentials, /*variables=*/true);
  status->add_option("--job", flags->job, "Show this job only (default: every job that is found)")
      ->type_name("ID");
  status->add_flag("--json", flags->json, "Print JSON (GetStatusResponse of the v1 protocol)");
  status->add_flag("--exit-code", flags->exit_code,
                   "Exit with 1 if the job has failed; with --watch, exit when the job ends");
  status
      ->add_option("--watch", flags->watch,
                   std::string("Print the status repeatedly, at this interval (default ") +
                       kDefaultWatchInterval + ")")
      ->expected(0, 1)
      ->type_name("[INTERVAL]");
}

void AddDebug(CLI::App* app, DebugFlags* flags, std::string* address) {
  CLI::App* debug =
      app->add_subcommand("debug", "Say why a job hangs, and collect what its ranks are doing");
  debug->footer(kDebugDetails);
  debug->formatter(std::make_shared<CommandHelp>("muster debug [flags] [address]"));
  AddCoordinatorFlag(debug, &flags->coordinator, address);
  AddCredentialFlags(debug, &flags->credentials, /*variables=*/true);
  debug->add_option("--job", flags->job, "The job, if several are found")->type_name("ID");
  debug
      ->add_option("--output", flags->output,
                   "Where the bundle goes: a new folder, FILE.tar, FILE.tar.gz, or - for a tar on "
                   "standard output (default: a folder muster-hang-TIME here)")
      ->type_name("PATH");
  debug
      ->add_option("--wait", flags->wait,
                   "How long launchers have to send their files (default 15s); the verdict waits "
                   "up to 10s for launchers that do not answer, whatever this says")
      ->type_name("DURATION");
}

void AddHealth(CLI::App* app, HealthFlags* flags, std::string* address) {
  CLI::App* health = app->add_subcommand("health", "Check whether a coordinator serves");
  health->footer(kHealthDetails);
  health->formatter(std::make_shared<CommandHelp>("muster health [flags] [address]"));
  AddCoordinatorFlag(health, &flags->coordinator, address);
  AddCredentialFlags(health, &flags->credentials, /*variables=*/true);
  health->add_option("--timeout", flags->timeout, "How long the answer may take (default 3s)")
      ->type_name("DURATION");
}

void AddReplay(CLI::App* app, ReplayFlags* flags) {
  CLI::App* replay =
      app->add_subcommand("replay", "Print what has happened in a job, from musterd's journal");
  replay->footer(kReplayDetails);
  replay->formatter(std::make_shared<CommandHelp>("muster replay [flags] FILE"));
  replay->add_option("journal", flags->journal, "The file that musterd --journal has written")
      ->type_name("FILE");
  replay
      ->add_option("--at", flags->at,
                   "Show the status as it was then: end, a duration since the beginning (+1m30s), "
                   "or a time (2026-11-22T20:15:00Z)")
      ->type_name("WHEN");
  replay
      ->add_option("--trace", flags->trace,
                   "Write a trace for Perfetto and chrome://tracing (-: on standard output), up to "
                   "--at if given")
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
  completion->footer(kCompletionDetails);
  completion->formatter(std::make_shared<CommandHelp>("muster completion bash|zsh|jobs"));
  completion->add_option("shell", *shell, "bash or zsh; or jobs")->type_name("SHELL");
}

void AddHelp(CLI::App* app, std::string* command) {
  CLI::App* help = app->add_subcommand("help", "Show what a command does and its flags");
  help->footer("For example: muster help run");
  help->formatter(std::make_shared<CommandHelp>("muster help [command]"));
  help->add_option("command", *command, "The command; without one, this lists all commands")
      ->type_name("COMMAND");
}

void AddVersion(CLI::App* app) {
  CLI::App* version = app->add_subcommand("version", "Print the version");
  version->formatter(std::make_shared<CommandHelp>("muster version"));
}

// Reverses the arguments, because CLI11 takes them from the back.
Strings Reversed(Strings arguments) {
  std::reverse(arguments.begin(), arguments.end());
  return arguments;
}

// Returns null if there is no command of that name.
const CLI::App* FindCommand(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

Strings CommandNames(const CLI::App& app) {
  Strings names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

std::string UnknownCommand(const CLI::App& app, const std::string& word) {
  return absl::StrCat("unknown command: ", word, HintForCommand(word, CommandNames(app)));
}

KnownFlags FlagsOf(const CLI::App& command) {
  KnownFlags flags;
  for (const CLI::Option* option : command.get_options()) {
    auto& names = option->get_items_expected_min() > 0 ? flags.with_value : flags.without_value;
    for (const std::string& name : option->get_lnames()) names.insert("--" + name);
    for (const std::string& name : option->get_snames()) names.insert("-" + name);
  }
  return flags;
}

// Returns an error about the words that CLI11 could not place, with hints.
std::string DescribeExtras(const CLI::App& app) {
  const Strings extras = app.remaining(/*recurse=*/true);
  const bool flag = absl::StartsWith(extras[0], "-");
  if (app.get_subcommands().empty() && !flag) return UnknownCommand(app, extras[0]);
  if (!flag) return absl::StrCat("unknown argument: ", absl::StrJoin(extras, " "));
  Strings names;
  for (const CLI::App* command : app.get_subcommands()) {
    const KnownFlags flags = FlagsOf(*command);
    names.insert(names.end(), flags.with_value.begin(), flags.with_value.end());
    names.insert(names.end(), flags.without_value.begin(), flags.without_value.end());
  }
  return absl::StrCat("unknown flag: ", extras[0], HintForFlag(extras[0], names));
}

int Refuse(const std::string& text, const std::string& command) {
  WriteTerminationLog(text);
  std::cerr << "muster: " << text << "\nTry 'muster" << command << " --help'.\n";
  return exit_codes::kBadConfiguration;
}

// Returns the values of flags that shell completion offers besides file names.
std::vector<ValueCompletion> CompletedValues(const CLI::App& app) {
  const std::string jobs = "muster completion jobs 2> /dev/null";
  return {{"run", "--nproc-per-node", {"gpu", "cpu", "auto"}, ""},
          {"run", "--bind-to", {"none", "core", "numa"}, ""},
          {"run", "--restart", {"group", "rank", "auto"}, ""},
          {"status", "--job", {}, jobs},
          {"debug", "--job", {}, jobs},
          {"completion", "", {"bash", "zsh"}, ""},
          {"help", "", CommandNames(app), ""}};
}

// Prints the completion script, or the names that the script asks for.
absl::Status PrintCompletion(const CLI::App& app, const std::string& shell) {
  if (shell.empty()) {
    return absl::InvalidArgumentError(
        "no shell given; give bash or zsh: source <(muster completion bash)");
  }
  if (shell == "jobs") {
    for (const LocalCoordinator& local : FindLocalCoordinators()) std::cout << local.job << "\n";
    return absl::OkStatus();
  }
  const absl::StatusOr<std::string> script = CompletionScript(app, shell, CompletedValues(app));
  if (!script.ok()) return script.status();
  std::cout << *script;
  return absl::OkStatus();
}

// Prints `muster help`, with or without the name of a command.
absl::Status PrintHelp(const CLI::App& app, const std::string& name) {
  if (!name.empty() && FindCommand(app, name) == nullptr) {
    return absl::InvalidArgumentError(UnknownCommand(app, name));
  }
  // app.help() would print the help of the selected command, "help".
  std::cout << (name.empty() ? app.get_formatter()->make_help(&app, "", CLI::AppFormatMode::Normal)
                             : FindCommand(app, name)->help());
  return absl::OkStatus();
}

bool Contains(const Strings& words, const std::string& flag) {
  return std::any_of(words.begin(), words.end(), [&flag](const std::string& word) {
    return word == flag || absl::StartsWith(word, flag + "=");
  });
}

// Splits the command line into the words for CLI11 and the program.
absl::StatusOr<RunArguments> SplitArguments(const CLI::App& app, const Strings& all) {
  const CLI::App* const command = all.empty() ? nullptr : FindCommand(app, all[0]);
  const auto dashes = std::find(all.begin(), all.end(), "--");
  if (command == nullptr) return RunArguments{{all.begin(), dashes}, {}};
  const KnownFlags known = FlagsOf(*command);
  RunArguments words;
  if (command->get_name() == "run") {
    absl::StatusOr<RunArguments> split = SplitRunArguments({all.begin() + 1, all.end()}, known);
    if (!split.ok()) return split;
    words = *std::move(split);
    words.flags.insert(words.flags.begin(), all[0]);
  } else {
    for (auto word = all.begin(); word != dashes; ++word) {
      words.flags.push_back(WithDashes(*word, known));
    }
  }
  return words;
}

// The values that CLI11 fills in.
struct Parsed {
  RunFlags run;
  StatusFlags status;
  DebugFlags debug;
  HealthFlags health;
  ReplayFlags replay;
  std::string address;  // the coordinator's address, given as an argument
  std::string shell;
  std::string help_for;
};

void Declare(CLI::App* app, Parsed* parsed) {
  app->set_version_flag("--version", VersionLine());
  app->formatter(std::make_shared<CommandHelp>(
      "muster run|status|debug|health|replay|token|completion|help [flags]"));
  app->footer("See 'muster help run' and so on for details.");
  app->require_subcommand(0, 1);
  AddRun(app, &parsed->run);
  AddStatus(app, &parsed->status, &parsed->address);
  AddDebug(app, &parsed->debug, &parsed->address);
  AddHealth(app, &parsed->health, &parsed->address);
  AddReplay(app, &parsed->replay);
  AddToken(app);
  AddCompletion(app, &parsed->shell);
  AddHelp(app, &parsed->help_for);
  AddVersion(app);
}

// The argument takes precedence over MUSTER_COORDINATOR. With --coordinator it is an error.
absl::Status ApplyAddress(const Strings& flags, const std::string& address,
                          std::string* coordinator) {
  if (address.empty()) return absl::OkStatus();
  if (Contains(flags, "--coordinator")) {
    return absl::InvalidArgumentError(absl::StrCat("the coordinator is given twice, as '", address,
                                                   "' and by --coordinator; leave one out"));
  }
  *coordinator = address;
  return absl::OkStatus();
}

// Handles `muster status --watch head:7370`: a word with a colon is an address, not an interval.
void ApplyAddressForInterval(StatusFlags* status, std::string* address) {
  if (!address->empty() || !status->watch || !absl::StrContains(*status->watch, ':')) return;
  *address = *status->watch;
  status->watch = "";
}

// Returns the selected command. An error says what is wrong with its arguments.
absl::StatusOr<Command> MakeCommand(const CLI::App& app, const std::string& name,
                                    const Strings& flags, Parsed* parsed) {
  const auto printed = [](const absl::Status& status) -> absl::StatusOr<Command> {
    if (!status.ok()) return status;
    return Exit{0};
  };
  if (name == "replay") {
    if (!parsed->replay.journal.empty()) return parsed->replay;
    return absl::InvalidArgumentError("give the journal: muster replay FILE");
  }
  if (name == "token") return PrintToken{};
  if (name == "completion") return printed(PrintCompletion(app, parsed->shell));
  if (name == "help") return printed(PrintHelp(app, parsed->help_for));
  if (name == "version") {
    std::cout << VersionLine() << "\n";
    return Exit{0};
  }
  ApplyAddressForInterval(&parsed->status, &parsed->address);
  for (std::string* coordinator :
       {&parsed->status.coordinator, &parsed->debug.coordinator, &parsed->health.coordinator}) {
    if (absl::Status s = ApplyAddress(flags, parsed->address, coordinator); !s.ok()) return s;
  }
  if (name == "status") return parsed->status;
  if (name == "debug") return parsed->debug;
  return parsed->health;
}

}  // namespace

Command ParseCommandLine(int argc, char** argv) {
  const Strings all(argv + 1, argv + argc);
  Parsed parsed;
  CLI::App app("Launch the processes of a distributed job and show its state.", "muster");
  Declare(&app, &parsed);
  const auto refuse = [&app](const std::string& text) {
    const std::vector<CLI::App*> chosen = app.get_subcommands();
    return Exit{Refuse(text, chosen.empty() ? "" : " " + chosen[0]->get_name())};
  };
  absl::StatusOr<RunArguments> words = SplitArguments(app, all);
  if (!words.ok()) return Exit{Refuse(std::string(words.status().message()), " run")};
  try {
    app.parse(Reversed(words->flags));
  } catch (const CLI::Success& help) {
    return Exit{app.exit(help)};
  } catch (const CLI::ExtrasError&) {
    return refuse(DescribeExtras(app));
  } catch (const CLI::ParseError& error) {
    return refuse(error.what());
  }
  if (app.get_subcommands().empty()) {
    return refuse(
        "no command given; expected run, status, debug, health, replay, token, completion, help or "
        "version");
  }
  const std::string name = app.get_subcommands()[0]->get_name();
  if (name == "run") {
    parsed.run.program = std::move(words->program);
    return parsed.run;
  }
  if (std::find(all.begin(), all.end(), "--") != all.end()) {
    return refuse(absl::StrCat("muster ", name, " takes no program"));
  }
  absl::StatusOr<Command> command = MakeCommand(app, name, words->flags, &parsed);
  return command.ok() ? *std::move(command) : refuse(std::string(command.status().message()));
}

}  // namespace muster::cli
