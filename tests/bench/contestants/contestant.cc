#include "tests/bench/contestants/contestant.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "tests/bench/common/clocks.h"
#include "tests/bench/common/median.h"

namespace muster::testing {
namespace {

constexpr int kNodes = 2;                       // of kEndpoints
constexpr char kPython[] = "/usr/bin/python3";  // the Python that tools/peers installs wheels for

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Returns the folder that tools/peers would choose.
std::string ChosenPeersHome() {
  if (const std::string home = Variable("MUSTER_PEERS_HOME"); !home.empty()) return home;
  std::string data = Variable("XDG_DATA_HOME");
  if (data.empty()) data = Variable("HOME") + "/.local/share";
  return data + "/muster/peers";
}

// Returns the first child of a process, or 0: the supervisor of a `muster run`, which serves the
// endpoint.
pid_t FirstChildOf(pid_t pid) {
  pid_t child = 0;
  std::ifstream(absl::StrCat("/proc/", pid, "/task/", pid, "/children")) >> child;
  return child;
}

// Returns whether the launcher of `muster run` serves the ranks.
bool IsEndpoint(Side side) { return side == Side::kEndpoint || side == Side::kEndpoints; }

// Return the upper median and the mean of one column of all ranks' answers.
double MedianOf(const std::vector<RankProcesses::Numbers>& answers, size_t column) {
  std::vector<double> values;
  for (const RankProcesses::Numbers& answer : answers) {
    values.push_back(static_cast<double>(answer.at(column)));
  }
  return testing::MedianOf(std::move(values));
}

double MeanOf(const std::vector<RankProcesses::Numbers>& answers, size_t column) {
  double sum = 0;
  for (const RankProcesses::Numbers& answer : answers) {
    sum += static_cast<double>(answer.at(column));
  }
  return sum / static_cast<double>(answers.size());
}

std::unique_ptr<Process> StartBare(const std::string& port_file, int ranks) {
  return Process::Start(
      {Runfile("tests/bench/contestants/bare_service"), port_file, absl::StrCat(ranks)});
}

absl::Status DidNotStart(Side side) {
  return absl::InternalError(absl::StrCat("the service of ", TitleOf(side), " did not start"));
}

}  // namespace

std::string NameOf(Side side) {
  static const char* const kNames[] = {
      "muster",        "muster_apart", "muster_commits", "bare",     "tcpstore",
      "tcpstore_keys", "jax",          "store",          "endpoint", "endpoints"};
  return kNames[static_cast<int>(side)];
}

std::string TitleOf(Side side) {
  static const char* const kTitles[] = {"Muster",
                                        "Muster, each rank by itself",
                                        "Muster, on the node",
                                        "bare gRPC",
                                        "TCPStore",
                                        "TCPStore, keys alone",
                                        "JAX",
                                        "Job::store()",
                                        "the launcher's endpoint",
                                        "endpoints on two nodes"};
  return kTitles[static_cast<int>(side)];
}

bool IsMuster(Side side) {
  return side == Side::kMuster || side == Side::kMusterApart || side == Side::kMusterCommits ||
         side == Side::kStore;
}

bool NeedsPeers(Side side) { return !IsMuster(side) && side != Side::kBare; }

std::string PeersHome() {
  const std::string home = ChosenPeersHome();
  return std::filesystem::is_directory(home + "/python") ? home : "";
}

std::string PeerVersion(const std::string& package) {
  const std::string home = PeersHome();
  if (home.empty()) return "";
  for (const auto& entry : std::filesystem::directory_iterator(home + "/python")) {
    const std::string name = entry.path().filename().string();
    absl::string_view version = name;  // "torch-2.15.0.dist-info", which pip makes
    if (absl::ConsumePrefix(&version, package + "-") &&
        absl::ConsumeSuffix(&version, ".dist-info")) {
      return std::string(version);
    }
  }
  return "";
}

bool IsInstalled(Side side) { return !NeedsPeers(side) || !PeersHome().empty(); }

absl::StatusOr<std::unique_ptr<Contestant>> Contestant::Start(Side side, int ranks, bool observed) {
  std::unique_ptr<Contestant> contestant(new Contestant(side, ranks, observed));
  if (const absl::Status s = contestant->StartService(); !s.ok()) return s;
  if (const auto up = contestant->rank_processes_.Await("up"); !up.ok()) return up.status();
  for (const pid_t pid : contestant->launchers_) {
    contestant->services_.push_back(FirstChildOf(pid));
  }
  return contestant;
}

Contestant::Contestant(Side side, int ranks, bool observed)
    : side_(side), ranks_(ranks), observed_(observed), rank_processes_(TitleOf(side), ranks) {}

absl::Status Contestant::StartMuster() {
  std::vector<std::string> flags = {
      absl::StrCat("--world-size=", side_ == Side::kEndpoints ? kNodes : ranks_)};
  if (observed_) {
    flags.insert(flags.end(), {"--metrics-listen=127.0.0.1:0",
                               absl::StrCat("--journal=", rank_processes_.folder(), "/journal")});
  }
  daemon_ = TestDaemon::Start(flags);
  if (daemon_ == nullptr) return DidNotStart(side_);
  address_ = daemon_->address();
  services_ = {daemon_->process().pid()};
  if (IsMuster(side_)) StartRanks();
  return absl::OkStatus();
}

// To each launcher, one program is its only rank. That program starts the ranks of the race.
absl::Status Contestant::StartEndpoints() {
  const int nodes = side_ == Side::kEndpoints ? kNodes : 1;
  std::vector<std::string> words = {Runfile("client/cli/muster"), "run", "--nproc-per-node=1",
                                    "--torch-store=loopback"};
  if (nodes > 1) {
    if (const absl::Status started = StartMuster(); !started.ok()) return started;
    words.insert(words.end(), {absl::StrCat("--nnodes=", nodes), "--coordinator=" + address_});
  }
  for (int node = 0; node < nodes; ++node) {
    std::vector<std::string> all = words;
    if (nodes > 1) {
      all.insert(all.end(),
                 {absl::StrCat("--node-rank=", node), absl::StrCat("--node-id=node", node)});
    }
    all.push_back("--");
    const int first = ranks_ * node / nodes;
    for (std::string& word : PeerWords("", first, ranks_ * (node + 1) / nodes - first)) {
      all.push_back(std::move(word));
    }
    std::unique_ptr<Process> launcher = Process::Start(all, PeerEnvironment());
    launchers_.push_back(launcher->pid());
    rank_processes_.Add(std::move(launcher));
  }
  address_ = "MASTER_ADDR";  // where the ranks find the endpoint of their node
  return absl::OkStatus();
}

absl::Status Contestant::StartService() {
  if (IsMuster(side_)) return StartMuster();
  if (IsEndpoint(side_)) return StartEndpoints();
  const std::string port_file = rank_processes_.folder() + "/port";
  std::unique_ptr<Process> service =
      side_ == Side::kBare ? StartBare(port_file, ranks_)
                           : Process::Start(PeerWords(port_file, 0, ranks_), PeerEnvironment());
  const int port = AwaitPort(*service, port_file);
  address_ = absl::StrCat("127.0.0.1:", port);
  services_ = {service->pid()};
  rank_processes_.Add(std::move(service));
  if (port == 0) return DidNotStart(side_);
  if (side_ == Side::kBare) StartRanks();
  return absl::OkStatus();
}

// The process that starts the ranks is also the service, except for an endpoint.
std::vector<std::string> Contestant::PeerWords(const std::string& port_file, int first,
                                               int count) const {
  const char* const program = side_ == Side::kJax ? "jax_ranks.py" : "tcpstore_ranks.py";
  return {kPython,
          Runfile(absl::StrCat("tests/bench/contestants/", program)),
          IsEndpoint(side_) ? "endpoint" : NameOf(side_),
          rank_processes_.folder(),
          absl::StrCat(ranks_),
          port_file,
          absl::StrCat(first),
          absl::StrCat(count)};
}

std::map<std::string, std::string> Contestant::PeerEnvironment() {
  return {{"PYTHONPATH", PeersHome() + "/python"}, {"PYTHONDONTWRITEBYTECODE", "1"}};
}

double Contestant::MicrosOfServices() const {
  int64_t nanos = 0;
  for (const pid_t pid : services_) nanos += ProcessorNanosOf(pid);
  return static_cast<double>(nanos) / 1e3;
}

void Contestant::StartRanks() {
  const bool collectives = IsMuster(side_) && side_ != Side::kStore;
  const std::string kind = NameOf(collectives ? Side::kMuster : side_);
  for (int rank = 0; rank < ranks_; ++rank) {
    rank_processes_.Add(
        Process::Start({Runfile("tests/bench/contestants/control_plane_rank"), kind,
                        rank_processes_.folder(), absl::StrCat(rank), absl::StrCat(ranks_)},
                       {{"MUSTER_COORDINATOR", address_},
                        {"MUSTER_RANK", absl::StrCat(rank)},
                        {"MUSTER_NODE_FANIN", side_ == Side::kMusterApart ? "0" : "1"},
                        {"MUSTER_NODE_COMMITS", side_ == Side::kMusterCommits ? "1" : "0"}}));
  }
}

absl::StatusOr<Sample> Contestant::Join() {
  const double before = MicrosOfServices();
  rank_processes_.Send("join " + address_);
  const auto answers = rank_processes_.Await("joined");
  if (!answers.ok()) return answers.status();
  int64_t begin = answers->front().at(0);
  int64_t end = 0;
  for (const RankProcesses::Numbers& answer : *answers) {
    begin = std::min(begin, answer.at(0));
    end = std::max(end, answer.at(1));
  }
  const double wall = static_cast<double>(end - begin) / 1e3;
  return Sample{wall, wall, MeanOf(*answers, 2) / 1e3, (MicrosOfServices() - before) / ranks_};
}

absl::StatusOr<Sample> Contestant::Run(const Operation& operation, int count) {
  const double before = MicrosOfServices();
  rank_processes_.Send(
      absl::StrCat("run ", operation.kind, " ", operation.bytes, " ", next_, " ", count));
  next_ += count;
  const auto answers = rank_processes_.Await("ran");
  if (!answers.ok()) return answers.status();
  const double used = MicrosOfServices() - before;
  if (const absl::Status cleaned = Clean(operation, count); !cleaned.ok()) return cleaned;
  // The ranks make one more barrier before they begin.
  const int served = operation.kind == "barrier" ? count + 1 : count;
  return Sample{MedianOf(*answers, 0) / 1e3 / count, MedianOf(*answers, 1) / 1e3,
                MeanOf(*answers, 2) / 1e3 / count, used / served / ranks_};
}

// Removes the keys that the operations have left. This is not part of the measured time.
absl::Status Contestant::Clean(const Operation& operation, int count) {
  if (side_ != Side::kStore && !NeedsPeers(side_)) return absl::OkStatus();
  rank_processes_.Send(absl::StrCat("clean ", operation.kind, " ", next_ - count, " ", count));
  return rank_processes_.Await("cleaned").status();
}

absl::Status Contestant::Leave() {
  rank_processes_.Send("leave");
  return rank_processes_.Await("left").status();
}

}  // namespace muster::testing
