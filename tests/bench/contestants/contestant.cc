#include "tests/bench/contestants/contestant.h"

#include <algorithm>
#include <fstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/bench/common/clocks.h"
#include "tests/bench/common/median.h"
#include "tests/bench/contestants/peers_home.h"

namespace muster::testing {
namespace {

constexpr int kNodes = 2;  // of kEndpoints

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

absl::Status DidNotStart(Side side) {
  return absl::InternalError(absl::StrCat("the service of ", TitleOf(side), " did not start"));
}

}  // namespace

std::string NameOf(Side side) {
  static const char* const kNames[] = {"muster",   "muster_by_daemon", "muster_apart", "bare",
                                       "tcpstore", "tcpstore_keys",    "jax",          "store",
                                       "endpoint", "endpoints"};
  return kNames[static_cast<int>(side)];
}

std::string TitleOf(Side side) {
  static const char* const kTitles[] = {"Muster",
                                        "Muster, by musterd",
                                        "Muster, each rank by itself",
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
  return side == Side::kMuster || side == Side::kMusterByDaemon || side == Side::kMusterApart ||
         side == Side::kStore;
}

bool NeedsPeers(Side side) { return !IsMuster(side) && side != Side::kBare; }

bool IsInstalled(Side side) { return !NeedsPeers(side) || !PeersHome().empty(); }

absl::StatusOr<std::unique_ptr<Contestant>> Contestant::Start(Side side, const Shape& shape,
                                                              const Options& options) {
  std::unique_ptr<Contestant> contestant(new Contestant(side, shape, options));
  if (const absl::Status s = contestant->StartService(); !s.ok()) return s;
  if (const auto up = contestant->rank_processes_.Await("up"); !up.ok()) return up.status();
  for (const pid_t pid : contestant->launchers_) {
    contestant->services_.push_back(FirstChildOf(pid));
  }
  return contestant;
}

Contestant::Contestant(Side side, const Shape& shape, const Options& options)
    : side_(side), shape_(shape), options_(options), rank_processes_(TitleOf(side), shape.ranks) {}

std::unique_ptr<Process> Contestant::StartOn(int node, const std::vector<std::string>& words,
                                             const std::map<std::string, std::string>& env) const {
  const SimulatedNetwork::Visit visit(options_.network, node);
  return Process::Start(words, env);
}

std::string Contestant::AddressAt(int port) const {
  return absl::StrCat(SimulatedNetwork::AddressOf(options_.network, 0), ":", port);
}

absl::Status Contestant::StartMuster() {
  std::vector<std::string> flags = {
      absl::StrCat("--world-size=", side_ == Side::kEndpoints ? kNodes : shape_.ranks)};
  if (options_.observed) {
    flags.insert(flags.end(), {"--metrics-listen=127.0.0.1:0",
                               absl::StrCat("--journal=", rank_processes_.folder(), "/journal")});
  }
  if (options_.network != nullptr) flags.push_back("--insecure");  // only our own ranks reach it
  {
    const SimulatedNetwork::Visit visit(options_.network, 0);
    daemon_ = TestDaemon::Start(flags, {}, AddressAt(0));
  }
  if (daemon_ == nullptr) return DidNotStart(side_);
  address_ = AddressAt(daemon_->port());
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
    const Shape shape = {nodes, shape_.ranks};
    for (std::string& word : PeerWords("", shape.FirstRankOf(node), shape.RanksOf(node))) {
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
      side_ == Side::kBare
          ? StartOn(0, {Runfile("tests/bench/contestants/bare_service"), AddressAt(0), port_file,
                        absl::StrCat(shape_.ranks)})
          : StartOn(0, PeerWords(port_file, 0, shape_.RanksOf(0)), PeerEnvironment());
  const int port = AwaitPort(*service, port_file);
  address_ = AddressAt(port);
  services_ = {service->pid()};
  rank_processes_.Add(std::move(service));
  if (port == 0) return DidNotStart(side_);
  if (side_ == Side::kBare) StartRanks();
  if (side_ != Side::kBare) StartPeersOfOtherNodes();
  return absl::OkStatus();
}

void Contestant::StartPeersOfOtherNodes() {
  for (int node = 1; node < shape_.nodes; ++node) {
    rank_processes_.Add(StartOn(node, PeerWords("", shape_.FirstRankOf(node), shape_.RanksOf(node)),
                                PeerEnvironment()));
  }
}

// The process that starts the ranks is also the service, except for an endpoint.
std::vector<std::string> Contestant::PeerWords(const std::string& port_file, int first,
                                               int count) const {
  const char* const program = side_ == Side::kJax ? "jax_ranks.py" : "tcpstore_ranks.py";
  return {kPeersPython,
          Runfile(absl::StrCat("tests/bench/contestants/", program)),
          IsEndpoint(side_) ? "endpoint" : NameOf(side_),
          rank_processes_.folder(),
          absl::StrCat(shape_.ranks),
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
  for (int rank = 0; rank < shape_.ranks; ++rank) {
    const int node = shape_.NodeOf(rank);
    rank_processes_.Add(
        StartOn(node,
                {Runfile("tests/bench/contestants/control_plane_rank"), kind,
                 rank_processes_.folder(), absl::StrCat(rank), absl::StrCat(shape_.ranks)},
                {{"MUSTER_COORDINATOR", address_},
                 {"MUSTER_RANK", absl::StrCat(rank)},
                 {"MUSTER_NODE_ID", absl::StrCat("node-", node)},
                 {"MUSTER_NODE_FANIN", side_ == Side::kMusterApart ? "0" : "1"},
                 {"MUSTER_NODE_COMMITS", side_ == Side::kMusterByDaemon ? "0" : "1"}}));
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
  return Sample{wall, wall, MeanOf(*answers, 2) / 1e3,
                (MicrosOfServices() - before) / shape_.ranks};
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
                MeanOf(*answers, 2) / 1e3 / count, used / served / shape_.ranks};
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
