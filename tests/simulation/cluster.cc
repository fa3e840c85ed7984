#include "tests/simulation/cluster.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/core/api/answer_size.h"
#include "tests/simulation/world/stranger.h"

namespace muster::simulation {
namespace {

constexpr int kMaxStarts = 3;
// How soon the other end of a connection notices that a process has ended, or that a host has died.
constexpr absl::Duration kProcessNotice = absl::Milliseconds(50);
constexpr absl::Duration kHostNotice = absl::Seconds(15);
constexpr absl::Duration kLauncherRetry = absl::Milliseconds(50);
constexpr absl::Duration kClockError = absl::Hours(1);
constexpr absl::Duration kGroupsInterval = absl::Milliseconds(100);

std::function<uint64_t()> Numbers(uint64_t seed, std::string purpose) {
  return [random = Random(seed, purpose)]() mutable { return random.Next(); };
}

}  // namespace

Cluster::Cluster(const Setting* setting, SimulationState* simulation)
    : setting_(setting),
      simulation_(simulation),
      checks_(setting, simulation),
      network_(setting->seed, simulation, &checks_),
      store_network_(setting->seed, simulation, &network_),
      random_(setting->seed, "cluster"),
      places_(setting->size) {
  network_.set_conditions(setting->conditions);
  network_.set_watcher(&store_network_);
  if (setting->large_answers) network_.set_most_bytes(kMostMessageBytes);
}

void Cluster::Start() {
  simulation_->clock.After(random_.Between(absl::ZeroDuration(), absl::Seconds(1)),
                           [this] { StartDaemon(); });
  LaunchAll();
  if (setting_->endless_groups) WatchGroups();
}

// If processes are replaced, the last one starts late. Then there is time to replace one before the
// epoch forms. If a launcher lies, the last one may start after the job would fail because of that.
absl::Duration Cluster::LateStart() const {
  const bool is_lied_to = setting_->lying_launcher && Random(setting_->seed, "late").Chance(0.5);
  if (is_lied_to) return absl::Seconds(7);
  return setting_->replacements ? absl::Seconds(3) : absl::ZeroDuration();
}

void Cluster::LaunchAll() {
  for (uint32_t place = 0; place < setting_->size; ++place) {
    ++launches_pending_;
    const bool last = place + 1 == setting_->size;
    const absl::Duration least = last ? LateStart() : absl::ZeroDuration();
    simulation_->clock.After(random_.Between(least, least + absl::Seconds(1)),
                             [this, place] { Launch(place); });
  }
}

// ---- Daemons ----

core::Options Cluster::DaemonOptions() {
  core::Options options;
  if (setting_->large_answers) {
    options.limits.max_answer_bytes = kMostMessageBytes;
    options.limits.max_payload_bytes = kMostMessageBytes - core::AnswerBytes(0, 1);
  }
  options.job_id = "simulated";
  options.daemon_version = "simulated";
  // Makes the instances differ in the bits that tokens contain. Random bits would almost always
  // differ, but not quite always.
  options.instance = random_.Next() << 10 | daemons_.size();
  options.random = Numbers(random_.Next(), "nonces");
  // Longer than any pause in a schedule that is to lose no member.
  options.member_grace = absl::Seconds(3);
  if (setting_->elastic) {
    options.min_world_size = setting_->least_size;
    options.max_world_size = setting_->size;
    if (setting_->fewer_places && !daemons_.empty()) {
      options.max_world_size = std::max(setting_->size - 1, setting_->least_size);
    }
    options.settle = absl::Seconds(1);
    options.max_restarts_total = setting_->max_restarts_total;
  }
  return options;
}

void Cluster::StartDaemon() {
  const DaemonId id = static_cast<DaemonId>(daemons_.size()) + 1;
  absl::Time clock = absl::FromUnixSeconds(1'800'000'000);
  if (setting_->clock_goes_back) clock -= id * kClockError;
  simulation_->Trace("daemon ", id, " starts");
  core::Options options = DaemonOptions();
  if (setting_->store) {
    // No finer than a journal records it.
    options.store.young_until =
        clock + absl::Floor(simulation_->now(), absl::Nanoseconds(1)) + options.member_grace;
  }
  daemons_[id] = std::make_unique<Daemon>(id, std::move(options), clock, simulation_, &network_,
                                          &store_network_);
  network_.Add(id, daemons_[id].get());
  store_network_.Add(id, daemons_[id].get());
  RouteAll();
}

void Cluster::RouteAll() {
  for (const auto& process : processes_) {
    if (process->alive()) network_.Route(process->id(), daemons_.rbegin()->first);
  }
}

void Cluster::KillDaemon(bool silent, absl::Duration downtime) {
  if (current() == nullptr || !current()->alive()) return;
  const DaemonId id = daemons_.rbegin()->first;
  simulation_->Trace("daemon ", id, " dies", silent ? ", and its host" : "");
  current()->Kill();
  checks_.store.DaemonDied();
  network_.DaemonGone(id, silent ? kHostNotice : kProcessNotice);
  simulation_->clock.After(downtime, [this] { StartDaemon(); });
}

void Cluster::PauseDaemon(absl::Duration length) {
  if (current() == nullptr || !current()->alive()) return;
  simulation_->Trace("daemon ", daemons_.rbegin()->first, " is stopped for ",
                     absl::FormatDuration(length));
  current()->PauseUntil(simulation_->now() + length);
}

Daemon* Cluster::Listening() {
  Daemon* const daemon = current();
  if (daemon == nullptr || !daemon->alive()) return nullptr;
  return daemon->paused_until() > simulation_->now() ? nullptr : daemon;
}

void Cluster::SendAsStranger(uint64_t choice) {
  if (Listening() == nullptr) return;
  simulation_->Trace("a stranger calls daemon ", daemons_.rbegin()->first);
  Listening()->ReceiveFromStranger(choice);
}

void Cluster::SendAsLyingLauncher(uint64_t choice) {
  if (Listening() == nullptr) return;
  simulation_->Trace("a lying launcher calls daemon ", daemons_.rbegin()->first);
  Listening()->ReceiveFromLyingLauncher(choice);
}

void Cluster::WatchGroups() {
  if (Over()) return;
  if (Listening() != nullptr) CheckGroups();
  simulation_->clock.After(kGroupsInterval, [this] { WatchGroups(); });
}

// Counts what dead processes knew when they died: the daemon may still know that too.
void Cluster::CheckGroups() {
  const auto at_daemon = current()->CountGroups();
  if (!at_daemon) return;
  const auto& [epoch, count] = *at_daemon;
  std::set<internal::MemberEpochs::Groups::key_type> known;
  for (const auto& process : processes_) {
    const internal::MemberEpochs& epochs = process->member().epochs();
    if (!epochs.IsIn({epoch.number, epoch.nonce})) continue;
    for (const auto& [name, group] : epochs.groups()) known.insert(name);
  }
  if (count <= known.size()) return;
  simulation_->Violation("daemon ", daemons_.rbegin()->first, " knows ", count,
                         " groups, and its members know only ", known.size());
}

void Cluster::SplitDaemon(uint64_t places, absl::Duration length) {
  if (current() == nullptr || !current()->alive()) return;
  const DaemonId old = daemons_.rbegin()->first;
  std::vector<ProcessId> stay;
  for (uint32_t place = 0; place < places_.size(); ++place) {
    if ((places >> place & 1) != 0 && Running(place) != nullptr) {
      stay.push_back(Running(place)->process().id());
    }
  }
  StartDaemon();
  for (const ProcessId process : stay) network_.Route(process, old);
  simulation_->Trace("daemon ", old, " goes on beside it, for ", stay.size(), " processes");
  simulation_->clock.After(length, [this, old] {
    simulation_->Trace("daemon ", old, " dies");
    daemons_[old]->Kill();
    network_.DaemonGone(old, kProcessNotice);
    RouteAll();
  });
}

// ---- Processes ----

internal::MemberOptions Cluster::OptionsOf(ProcessId id, uint32_t place) {
  internal::MemberOptions options;
  options.coordinator = "musterd.test:7370";
  options.job_id = "simulated";
  options.identity = IdentityOf(*setting_, id, place, simulation_->now());
  options.coordinator_timeout = absl::Minutes(10);
  options.node_fanin = setting_->node_fanin;
  options.node_commits = setting_->node_commits;
  options.random = Numbers(setting_->seed, absl::StrCat("backoff ", id));
  options.connected = [this, id] { return network_.Connected(id); };
  return options;
}

void Cluster::Launch(uint32_t place) {
  --launches_pending_;
  ++places_[place].starts;
  Program* const program = places_[place].program = NewProgram(place);
  ReportStarted(program->process());
  Random start(setting_->seed, absl::StrCat("start of ", program->process().id()));
  if (!setting_->slow_starts || start.Chance(0.5)) return program->Start();
  simulation_->clock.After(start.Between(absl::ZeroDuration(), absl::Seconds(3)), [program] {
    if (program->process().alive()) program->Start();
  });
}

// Reports the start again and again while there is no daemon, as a launcher does.
void Cluster::ReportStarted(const Process& process) {
  if (!process.alive()) return;
  if (current() == nullptr || !current()->alive()) {
    return simulation_->clock.After(kLauncherRetry, [this, &process] { ReportStarted(process); });
  }
  v1::ReportProcessStateRequest report;
  report.set_job_id("simulated");
  report.set_secret(process.identity().secret);
  report.set_state(v1::PROCESS_STATE_RUNNING);
  current()->ReportProcessState(report);
}

Program* Cluster::NewProgram(uint32_t place) {
  const ProcessId id = static_cast<ProcessId>(processes_.size()) + 1;
  simulation_->Trace("process ", id, " starts at place ", place);
  const bool shares = !setting_->apart || place != 0;
  processes_.push_back(std::make_unique<Process>(
      id, OptionsOf(id, place),
      Process::Environment{simulation_, &network_, &memories_, shares, setting_->seed ^ id}));
  Process* const process = processes_.back().get();
  network_.Add(process);
  started_at_[id] = place;
  checks_.memberships.Started(id, place);
  if (setting_->hostile && place == 0) {
    network_.TamperWith(id);
    checks_.disturbed.insert(id);
  }
  if (current() != nullptr) network_.Route(id, daemons_.rbegin()->first);
  ProgramState program_state{
      process,           setting_,
      simulation_,       &checks_,
      &faults_are_over_, Random(setting_->seed, absl::StrCat("program ", id)),
      nullptr,           place};
  if (setting_->store) {
    program_state.open_store = [this, process](uint32_t rank) { return OpenStore(process, rank); };
  }
  programs_.push_back(std::make_unique<Program>(
      program_state, [this, id] { network_.ProcessGone(id, kProcessNotice); }));
  return programs_.back().get();
}

StoreClient* Cluster::OpenStore(const Process* process, uint32_t rank) {
  internal::StoreClientOptions options;
  options.coordinator = "musterd.test:7370";
  options.job_id = "simulated";
  options.identity = process->identity();
  options.rank = rank;
  options.coordinator_timeout = absl::Minutes(10);
  options.random = Numbers(setting_->seed, absl::StrCat("store backoff ", process->id()));
  store_clients_.push_back(
      std::make_unique<StoreClient>(process, std::move(options), simulation_, &store_network_));
  store_network_.Add(store_clients_.back().get());
  return store_clients_.back().get();
}

Program* Cluster::Running(uint32_t place) {
  Program* const program = places_[place].program;
  return program != nullptr && program->process().alive() ? program : nullptr;
}

void Cluster::KillProcess(uint32_t place, bool silent, bool reported) {
  Program* const program = Running(place);
  if (program == nullptr) return;
  End(program, silent);
  if (reported) ReportExit(program->process());
  LaunchAgain(place);
}

void Cluster::KillProcessAtNode(uint32_t place, int steps, bool reported) {
  Program* const program = Running(place);
  if (program == nullptr) return;
  program->process().DieAtNodeAfter(steps, [this, place, program, reported] {
    simulation_->Trace("process ", program->process().id(),
                       " is in the midst of its node's memory");
    if (Running(place) == program) return KillProcess(place, /*silent=*/false, reported);
    End(program, /*silent=*/false);
  });
}

void Cluster::End(Program* program, bool silent) {
  Process& process = program->process();
  if (!process.alive()) return;
  simulation_->Trace("process ", process.id(), " dies", silent ? ", and its host" : "");
  checks_.disturbed.insert(process.id());
  program->Killed();
  process.Kill();
  checks_.leases.Gone(process);
  network_.ProcessGone(process.id(), silent ? kHostNotice : kProcessNotice);
}

void Cluster::ReportExit(const Process& process) {
  v1::ReportExitRequest report;
  report.set_job_id("simulated");
  report.set_secret(process.identity().secret);
  report.set_signal(9);
  simulation_->clock.After(
      random_.Between(absl::ZeroDuration(), absl::Milliseconds(20)), [this, report] {
        if (current() == nullptr || !current()->alive()) return;
        simulation_->Trace("  daemon <- ", [&] { return report.ShortDebugString(); });
        current()->ReportExit(report);
      });
}

void Cluster::LaunchAgain(uint32_t place) {
  if (!setting_->elastic || setting_->churn || places_[place].starts == kMaxStarts) return;
  ++launches_pending_;
  simulation_->clock.After(random_.Between(absl::ZeroDuration(), absl::Seconds(5)),
                           [this, place] { Launch(place); });
}

void Cluster::PauseProcess(uint32_t place, absl::Duration length) {
  Program* const program = Running(place);
  if (program == nullptr) return;
  simulation_->Trace("process ", program->process().id(), " is stopped for ",
                     absl::FormatDuration(length));
  checks_.disturbed.insert(program->process().id());
  program->process().PauseUntil(simulation_->now() + length);
}

void Cluster::CutProcess(uint32_t place) {
  if (Running(place) == nullptr) return;
  checks_.disturbed.insert(Running(place)->process().id());
  network_.Cut(Running(place)->process().id());
}

void Cluster::CutOffProcess(uint32_t place, absl::Duration length) {
  Program* const program = Running(place);
  if (program == nullptr) return;
  const ProcessId id = program->process().id();
  simulation_->Trace("process ", id, " is cut off for ", absl::FormatDuration(length));
  checks_.disturbed.insert(id);
  network_.CutOff(id);
  simulation_->clock.After(length, [this, id] {
    simulation_->Trace("process ", id, " can be reached again");
    network_.Heal(id);
  });
}

void Cluster::ReplaceProcess(uint32_t place, Older older, absl::Duration length) {
  Program* const program = Running(place);
  if (program == nullptr || places_[place].starts == kMaxStarts) return;
  checks_.disturbed.insert(program->process().id());
  if (older == Older::kIsCutOff) CutOffProcess(place, length);
  if (older == Older::kDies) End(program, /*silent=*/false);
  ++launches_pending_;
  const absl::Duration most = random_.Chance(0.5) ? absl::Seconds(3) : absl::Milliseconds(100);
  simulation_->clock.After(random_.Between(absl::ZeroDuration(), most), [this, place] {
    Launch(place);
    checks_.disturbed.insert(places_[place].program->process().id());
  });
}

void Cluster::Churn(absl::Duration length) {
  if (length <= absl::ZeroDuration() || Over()) return;
  Program* const program = NewProgram(random_.Pick(setting_->size));
  checks_.disturbed.insert(program->process().id());
  program->Start();
  const absl::Duration stay = random_.Between(absl::Milliseconds(100), absl::Milliseconds(900));
  simulation_->clock.After(stay, [this, program, rest = length - stay] {
    End(program, /*silent=*/false);
    Churn(rest);
  });
}

void Cluster::StartAgain(uint64_t places, bool old_daemon_stays, absl::Duration length) {
  if (current() == nullptr || Over()) return;
  simulation_->Trace("the job is started again");
  std::vector<ProcessId> left;
  for (uint32_t place = 0; place < places_.size(); ++place) {
    Program* const program = Running(place);
    if (program == nullptr) continue;
    program->BelongToEarlierRun();
    checks_.disturbed.insert(program->process().id());
    const bool stays = (places >> place & 1) != 0 && 2 * (left.size() + 1) <= places_.size();
    if (stays) left.push_back(program->process().id());
    if (!stays) End(program, /*silent=*/old_daemon_stays);
  }
  const DaemonId old = daemons_.rbegin()->first;
  const auto end_old = [this, old] {
    if (!daemons_[old]->alive()) return;
    simulation_->Trace("daemon ", old, " dies");
    daemons_[old]->Kill();
    network_.DaemonGone(old, kProcessNotice);
    RouteAll();
  };
  if (!old_daemon_stays) end_old();
  StartDaemon();
  for (const ProcessId process : left) {
    if (old_daemon_stays) network_.Route(process, old);
  }
  simulation_->clock.After(length, end_old);
  LaunchAll();
}

void Cluster::RequestStop(uint32_t place) {
  if (Running(place) != nullptr) Running(place)->RequestStop();
}

void Cluster::RejoinUnasked(uint32_t place) {
  if (Running(place) != nullptr) Running(place)->RejoinUnasked();
}

void Cluster::EndFaults() {
  simulation_->Trace("the network is fair from now on");
  faults_are_over_ = true;
  network_.set_conditions({});
}

// ---- The end ----

bool Cluster::Over() const {
  return launches_pending_ == 0 &&
         std::none_of(processes_.begin(), processes_.end(),
                      [](const auto& process) { return process->alive(); });
}

std::string Cluster::Unfinished() const {
  std::string text;
  for (const auto& program : programs_) {
    if (!program->process().alive()) continue;
    const std::string waiting = program->process().Waiting();
    absl::StrAppend(&text, text.empty() ? "" : "; ", "process ", program->process().id(), " in ",
                    waiting.empty() ? "no call" : waiting);
  }
  for (const auto& client : store_clients_) {
    const std::string waiting = client->alive() ? client->Waiting() : "";
    if (waiting.empty()) continue;
    absl::StrAppend(&text, text.empty() ? "" : "; ", "process ", client->process().id(), " in ",
                    waiting);
  }
  return text;
}

namespace {

// Returns whether the process was refused because another one has its place. A process of the
// earlier run that was in no epoch is as good as one of the new run, and may get the place first.
bool LostItsPlace(const std::optional<absl::Status>& outcome) {
  return outcome && (absl::IsAlreadyExists(*outcome) || absl::IsFailedPrecondition(*outcome));
}

// Returns whether the job has not formed because a stranger has given up a process of its own.
bool WasGivenUp(const std::optional<absl::Status>& outcome) {
  return outcome && absl::IsAborted(*outcome) && absl::StrContains(outcome->message(), kLie);
}

}  // namespace

// Returns whether this program may end with an error.
bool Cluster::MayFail(const Program& program) const {
  if (setting_->leftovers) return program.of_earlier_run() || LostItsPlace(program.outcome());
  const bool has_formed = std::any_of(programs_.begin(), programs_.end(),
                                      [](const auto& other) { return other->in_epoch(); });
  // Processes that learned that the job was given up have gone. One that starts after that waits
  // for them until its time-out, if it comes to the next daemon.
  const bool was_given_up = std::any_of(programs_.begin(), programs_.end(), [](const auto& other) {
    return WasGivenUp(other->outcome());
  });
  if (setting_->lying_launcher && !has_formed && was_given_up) return true;
  return !setting_->harmless();
}

void Cluster::CheckEnd() {
  for (const auto& program : programs_) {
    if (program->outcome() == absl::OkStatus() || MayFail(*program)) continue;
    simulation_->Violation("nothing happened that a job must not survive, and process ",
                           program->process().id(), " ends with ",
                           program->outcome() ? program->outcome()->ToString() : "nothing");
  }
  checks_.store.CheckEnd();
  for (const auto& [id, daemon] : daemons_) {
    daemon->CheckReplay();
    if (!daemon->alive() || daemon->open() == 0) continue;
    simulation_->Violation("daemon ", id, " has not answered ", daemon->open(),
                           " calls and streams, and everyone has gone");
  }
}

}  // namespace muster::simulation
