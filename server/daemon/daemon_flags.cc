#include "server/daemon/daemon_flags.h"

#include <cstdlib>
#include <iostream>
#include <memory>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "common/process/cluster_variables.h"
#include "common/process/exit_codes.h"
#include "common/process/termination_log.h"
#include "common/text/completion.h"
#include "common/text/help_formatter.h"
#include "common/text/nearest_name.h"
#include "server/core/api/options.h"
#include "server/daemon/flag_values.h"
#include "server/service/base/daemon_version.h"

namespace muster::daemon {
namespace {

constexpr char kDescription[] =
    "musterd coordinates one distributed job: it gives each process its rank, holds barriers, "
    "carries small objects and leases once-per-node work. Start one for each job.\n";

constexpr char kFooter[] = R"(
Every flag can also be given as the environment variable shown beside it; the flag wins.
Durations are written 500ms, 2s, 1m30s; sizes 1048576, 64MiB, 4GiB.

Examples:
  musterd                     one job on this machine, on port 7370
  musterd --listen 127.0.0.1:0 --port-file port --world-size 4 --exit-when-done
                              on a free port, for 4 processes, until they left
  musterd --job train-42 --listen 0.0.0.0:7370 --token-file token
                              for other machines, whose ranks have the token too

Exit status: 0 after a drain, or (--exit-when-done) when every member has left; 1 when it cannot
serve, or (--exit-when-done) when the job has failed; 64 for bad usage, and for credentials that are
missing or cannot be used. The reason also goes to the file that MUSTER_TERMINATION_LOG names, or to
/dev/termination-log where there is one.)";

std::string Environment(absl::string_view flag) {
  const std::string upper = absl::AsciiStrToUpper(flag);
  return absl::StrCat("MUSTER_", absl::StrReplaceAll(upper, {{"-", "_"}}));
}

// A helper that declares flags on a CLI::App, each with its environment variable and its default.
class Declarer {
 public:
  explicit Declarer(CLI::App* app) : app_(app) {}

  void Group(const std::string& name) { group_ = name; }

  template <typename T>
  void Value(const std::string& flag, const std::string& type, T* field, const std::string& help) {
    const std::string label = absl::StrCat("--", flag, " (", Environment(flag), ")");
    const auto parse = [field, label](const std::string& text) {
      if (const absl::Status s = Parse(text, field); !s.ok()) {
        throw CLI::ValidationError(label, std::string(s.message()));
      }
    };
    CLI::Option* option = app_->add_option_function<std::string>("--" + flag, parse, help);
    option->type_name(type)->envname(Environment(flag))->group(group_);
    option->default_str(Format(*field))->take_last();
  }

  void Switch(const std::string& flag, bool* field, const std::string& help) {
    app_->add_flag("--" + flag, *field, help)->envname(Environment(flag))->group(group_);
  }

 private:
  CLI::App* const app_;
  std::string group_;
};

void DeclareJob(Declarer& app, Flags* flags) {
  core::Options& core = flags->server.core;
  const std::string workload =
      ClusterJobId([](const char* name) -> const char* { return std::getenv(name); });
  if (!workload.empty()) core.job_id = workload;
  app.Group("Job");
  app.Value("job", "ID", &core.job_id,
            "Name of the job; members of another job are refused (under Slurm, the default is "
            "slurm-JOB-RESTARTS)");
  app.Value("world-size", "N", &core.world_size, "Number of members; 0: the first member gives it");
  app.Value("min-world-size", "N", &core.min_world_size,
            "Make the job elastic: after a loss it goes on while at least this many members "
            "remain; 0: a loss fails the job");
  app.Value("max-world-size", "N", &core.max_world_size,
            "Most members of an elastic job; 0: --world-size");
  app.Value("max-restarts-total", "N", &core.max_restarts_total,
            "How many processes may replace lost ones in the whole life of an elastic job; one "
            "more fails the job; 0: any number");
  app.Value("settle", "DURATION", &core.settle,
            "Quiet period, without a process that comes or goes, before an elastic job forms with "
            "empty places");
  app.Value("rejoin-timeout", "DURATION", &core.rejoin_timeout,
            "How long the survivors of a loss have to call Rejoin");
  app.Value("default-wait-timeout", "DURATION", &core.default_wait_timeout,
            "How long a call waits if its caller sets no time-out");
  app.Switch("exit-when-done", &flags->exit_when_done,
             "End when every member has left or the job has failed");
}

void DeclareNetwork(Declarer& app, Flags* flags) {
  app.Group("Network");
  app.Value("listen", "HOST:PORT", &flags->server.listen_address,
            "Address to serve; port 0 picks a free one, [::1]:7370 is IPv6");
  app.Value("port-file", "FILE", &flags->port_file,
            "Write the port number to this file once it is open; removed at exit");
  app.Switch("insecure", &flags->server.insecure,
             "Serve other machines without a token or a certificate: anybody who reaches the "
             "address can join the job and stop it");
}

void DeclareMetrics(Declarer& app, Flags* flags) {
  app.Group("Metrics");
  app.Value("metrics-listen", "HOST:PORT", &flags->pages.listen,
            "Serve the status page of the job, and metrics for Prometheus (/metrics), over HTTP "
            "and without credentials; :9100 is a port that only this machine reaches, port 0 picks "
            "a free one (default: no page)");
  app.Value("metrics-port-file", "FILE", &flags->pages.port_file,
            "Write that port number to this file once it is open; removed at exit");
}

void DeclareCredentials(Declarer& app, Flags* flags) {
  service::Credentials& credentials = flags->server.credentials;
  app.Group("Credentials");
  app.Value("token-file", "FILE", &credentials.token_file,
            "Ask every caller for the token in this file, which is read again when it changes; "
            "'muster token' makes one");
  app.Value("token-overlap", "DURATION", &credentials.token_overlap,
            "How long the previous token of the file stays valid");
  app.Value("tls-cert", "FILE", &credentials.tls_cert,
            "Serve TLS with this certificate (PEM, followed by intermediate certificates); read "
            "again when it changes, as are the next two");
  app.Value("tls-key", "FILE", &credentials.tls_key, "The certificate's key");
  app.Value("tls-client-ca", "FILE", &credentials.tls_client_ca,
            "Ask every caller for a certificate from this authority");
}

void DeclareLiveness(Declarer& app, Flags* flags) {
  app.Group("Liveness");
  app.Value("member-grace", "DURATION", &flags->server.core.member_grace,
            "How long a member may be cut off before it counts as lost");
  app.Value("recovery-grace", "DURATION", &flags->server.core.recovery_grace,
            "How long a restarted daemon waits for the members of a running job; more than both "
            "keepalive flags and 1s together");
  app.Value("stall-warning", "DURATION", &flags->server.core.stall_warning,
            "How long after the latest arrival the missing ranks are named; again at each "
            "doubling; 0: never");
  app.Value("keepalive-time", "DURATION", &flags->server.keepalive_time,
            "How often a silent member is pinged");
  app.Value("keepalive-timeout", "DURATION", &flags->server.keepalive_timeout,
            "How long a ping, or data on its way to the member, may go unanswered before the "
            "member counts as cut off; 0: silence is never a loss, as under a debugger");
  app.Value("drain-time", "DURATION", &flags->drain_time,
            "How long answers may take to be delivered at SIGTERM, and how long "
            "--exit-when-done waits for members to disconnect");
}

void DeclareLimits(Declarer& app, Flags* flags) {
  core::Limits& limits = flags->server.core.limits;
  app.Group("Limits");
  app.Value("max-payload-bytes", "SIZE", &limits.max_payload_bytes,
            "One member's contribution to a collective, or one lease result");
  app.Value("max-answer-bytes", "SIZE", &limits.max_answer_bytes,
            "The answer of a collective: the payloads of all its ranks together");
  app.Value("max-held-bytes", "SIZE", &limits.max_held_bytes,
            "All payloads, results and answers that the coordinator holds");
  app.Value("max-members", "N", &limits.max_members, "Members; also the largest world size");
  app.Value("max-waiters", "N", &limits.max_waiters, "Waiting calls");
  app.Value("max-waiters-per-member", "N", &limits.max_waiters_per_member,
            "Waiting calls of one member");
  app.Value("max-groups", "N", &limits.max_groups, "Groups of one epoch that still have handles");
  app.Value("max-group-ranks", "N", &limits.max_group_ranks, "Ranks of all named groups together");
  app.Value("max-leases", "N", &limits.max_leases,
            "Names of leased work; to make room, musterd forgets the outcomes that no process has "
            "asked for in the longest time");
  app.Value("max-leases-per-member", "N", &limits.max_leases_per_member,
            "Leases that one member holds or waits for");
  app.Value("max-name-bytes", "N", &limits.max_name_bytes, "Length of a name or label");
  core::StoreOptions& store = flags->server.core.store;
  app.Value("max-store-key-bytes", "SIZE", &store.max_key_bytes, "Length of a key of the store");
  app.Value("max-store-value-bytes", "SIZE", &store.max_value_bytes,
            "One value or queued element of the store; a queue may have 8 times as much");
  app.Value("max-store-keys", "N", &store.max_keys,
            "Keys of the store; what they hold counts towards --max-held-bytes");
}

void DeclareStore(Declarer& app, Flags* flags) {
  app.Group("Store");
  app.Switch("store-answers-wait-for-copy", &flags->server.core.store.answers_wait_for_copy,
             "Answer a change of the store only when two processes hold it, so that the daemon and "
             "any one process may fail together; costs a round trip");
}

void DeclareLogging(Declarer& app, Flags* flags) {
  app.Group("Logging");
  app.Value("log-level", "LEVEL", &flags->log.level, "debug, info, warning, error or off");
  app.Value("log-format", "FORMAT", &flags->log.format, "text or json, one line each, on stderr");
}

void DeclareJournal(Declarer& app, Flags* flags) {
  app.Group("Journal");
  app.Value("journal", "FILE", &flags->journal,
            "Record what members and launchers send, but for payloads, in this file and FILE.1, "
            "FILE.2 and so on: 'muster replay' shows what has happened");
  app.Value("journal-max-bytes", "SIZE", &flags->journal_max_bytes,
            "Size of these files together; musterd removes the oldest");
}

// A formatter that puts the default and the environment variable below each flag's description.
class Formatter final : public HelpFormatter {
 public:
  Formatter() { column_width(34); }

  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string type = option->get_type_name();
    return type.empty() ? "" : " " + type;
  }

  std::string make_option_desc(const CLI::Option* option) const override {
    if (option->get_envname().empty()) return InColumn(option->get_description());
    const std::string value = option->get_default_str();
    return absl::StrCat(InColumn(option->get_description()), "\n[",
                        value.empty() ? "" : absl::StrCat("default ", value, ", "),
                        option->get_envname(), "]");
  }
};

// Declares --completion, for packages and installers. The help omits it, because it is no setting
// and has no variable.
void DeclareCompletion(CLI::App* app) {
  const auto print = [app](const std::string& shell) {
    const absl::StatusOr<std::string> script = CompletionScript(*app, shell);
    if (!script.ok())
      throw CLI::ValidationError("--completion", std::string(script.status().message()));
    std::cout << *script;
    throw CLI::Success();
  };
  app->add_option_function<std::string>("--completion", print)->group("");
}

void Declare(CLI::App* app, Flags* flags) {
  Declarer declarer(app);
  DeclareJob(declarer, flags);
  DeclareNetwork(declarer, flags);
  DeclareCredentials(declarer, flags);
  DeclareLiveness(declarer, flags);
  DeclareLimits(declarer, flags);
  DeclareStore(declarer, flags);
  DeclareMetrics(declarer, flags);
  DeclareLogging(declarer, flags);
  DeclareJournal(declarer, flags);
  app->formatter(std::make_shared<Formatter>());
  app->set_version_flag("--version", absl::StrCat("musterd ", service::kDaemonVersion,
                                                  " (protocol ", core::kProtocolVersion, ")"));
  app->footer(kFooter);
  DeclareCompletion(app);
}

// The least bound at which a segment has room for a checkpoint of a large job.
constexpr uint64_t kMinJournalBytes = 1 << 20;

absl::Status CheckJournal(const Flags& flags) {
  if (flags.journal_max_bytes >= kMinJournalBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--journal-max-bytes (MUSTER_JOURNAL_MAX_BYTES): ", flags.journal_max_bytes,
                   " bytes are too few; give it ", Format(kMinJournalBytes), " or more"));
}

// Returns a hint at the flag that `word` probably meant. `word` may contain a value, and
// underscores.
std::string Hint(const CLI::App& app, const std::string& word) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  const std::string flag = absl::StrReplaceAll(word.substr(0, word.find('=')), {{"_", "-"}});
  const std::string nearest = NearestName(flag, flags);
  return nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?");
}

int Explain(absl::string_view problem) {
  std::cerr << "musterd: " << problem << "\nRun 'musterd --help' for the flags.\n";
  WriteTerminationLog(problem);
  return exit_codes::kBadConfiguration;
}

}  // namespace

std::optional<int> ParseFlags(int argc, char** argv, Flags* flags) {
  CLI::App app(kDescription, "musterd");
  Declare(&app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ConversionError& e) {
    return Explain(absl::StrCat(e.what(), "; expected true or false"));  // only switches convert
  } catch (const CLI::ExtrasError&) {
    return Explain(absl::StrCat("unknown flag or argument: ", absl::StrJoin(app.remaining(), " "),
                                Hint(app, app.remaining()[0])));
  } catch (const CLI::ParseError& e) {
    const bool asked_for_help = e.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success);
    return asked_for_help ? app.exit(e) : Explain(e.what());
  }
  if (const absl::Status s = Validate(flags->log); !s.ok()) return Explain(s.message());
  if (const absl::Status s = CheckJournal(*flags); !s.ok()) return Explain(s.message());
  return std::nullopt;
}

}  // namespace muster::daemon
