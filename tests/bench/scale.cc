// Measures what a job of thousands costs a real musterd. A few processes simulate the members, by
// default with one connection for each node of 8. The job forms, runs barriers and all-gathers,
// answers the launchers of all nodes, survives a restart of the daemon, and loses a member. The
// members share the processors with the daemon, so wall time depends on this machine. Compare the
// daemon's processor time for each member.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/credentials/process_secret.h"
#include "grpcpp/grpcpp.h"
#include "muster/v1/coordinator.grpc.pb.h"
#include "nlohmann/json.hpp"
#include "tests/bench/common/callers_folder.h"
#include "tests/bench/common/clocks.h"
#include "tests/bench/common/markdown_table.h"
#include "tests/bench/common/rank_processes.h"
#include "tests/bench/swarm/scale_swarm.h"
#include "tests/util/job/daemon.h"
#include "tests/util/process/process.h"
#include "tests/util/process/process_usage.h"

namespace muster::testing {
namespace {

constexpr size_t kGathered = 128;
constexpr int kSignal = 9;  // the signal in the report of the lost member's exit

struct Settings {
  std::vector<int> members = {256, 1024, 4096, 10240};
  int parts = 2;
  int per_connection = kMembersOfNode;
  int rounds = 5;
  std::string json;
};

// The cost of one step of a job: the time until its last member is done; and for each member, the
// processor time of daemon and members, and the bytes of answers.
struct Cost {
  double wall_ms = 0;
  double daemon_us = 0;
  double member_us = 0;
  double bytes = 0;
};

struct Result {
  int members = 0;
  double resident = 0;  // the daemon's bytes for each member, at rest
  std::vector<std::pair<std::string, Cost>> steps;
};

// A daemon and its members.
class ScaleJob {
 public:
  ScaleJob(int members, const Settings& settings)
      : members_(members),
        per_connection_(settings.per_connection),
        rank_processes_("members", settings.parts) {}

  absl::Status Start() {
    daemon_ = TestDaemon::Start({absl::StrCat("--world-size=", members_)});
    if (daemon_ == nullptr) return absl::InternalError("musterd did not start");
    before_ = MemoryOf(pid()).resident;
    for (int part = 0; part < rank_processes_.size(); ++part) {
      rank_processes_.Add(
          Process::Start({Runfile("tests/bench/swarm/scale_members"), rank_processes_.folder(),
                          absl::StrCat(part), absl::StrCat(rank_processes_.size()),
                          absl::StrCat(members_), absl::StrCat(per_connection_)}));
    }
    return rank_processes_.Await("up").status();
  }

  absl::StatusOr<Cost> Form() {
    return Measure(Nanos(CLOCK_MONOTONIC), ProcessorNanosOf(pid()), {Attach(), "join"});
  }

  absl::StatusOr<Cost> Run(const std::string& line) {
    return Measure(Nanos(CLOCK_MONOTONIC), ProcessorNanosOf(pid()), {line});
  }

  // Asks for the progress once for each node, as its launcher does every two seconds.
  absl::StatusOr<Cost> Watch() const {
    const auto channel =
        grpc::CreateChannel(daemon_->address(), grpc::InsecureChannelCredentials());
    channel->WaitForConnected(absl::ToChronoTime(absl::Now() + absl::Minutes(1)));
    const auto stub = v1::CoordinatorService::NewStub(channel);
    AwaitQuiet();
    Cost cost;
    const int64_t cpu = ProcessorNanosOf(pid());
    const int64_t begin = Nanos(CLOCK_MONOTONIC);
    for (int first = 0; first < members_; first += kMembersOfNode) {
      const absl::StatusOr<size_t> bytes = AskInBrief(stub.get(), first);
      if (!bytes.ok()) return bytes.status();
      cost.bytes += static_cast<double>(*bytes) / members_;
    }
    cost.wall_ms = static_cast<double>(Nanos(CLOCK_MONOTONIC) - begin) / 1e6;
    cost.daemon_us = static_cast<double>(ProcessorNanosOf(pid()) - cpu) / 1e3 / members_;
    return cost;
  }

  // Restarts the daemon. Measures from the start of the new process to the end of a barrier of all
  // members.
  absl::StatusOr<Cost> Restart() {
    daemon_->Kill();
    if (const absl::Status ended = Send("await-end"); !ended.ok()) return ended;
    const int64_t begin = Nanos(CLOCK_MONOTONIC);
    daemon_->Restart();
    return Measure(begin, 0, {Attach(), "barrier"});
  }

  // Loses a member. Measures from the report of its exit until the last other member knows, both
  // from the end of its barrier and from its stream.
  absl::StatusOr<Cost> Lose() {
    if (const absl::Status parked = Send("park"); !parked.ok()) return parked;
    const auto channel =
        grpc::CreateChannel(daemon_->address(), grpc::InsecureChannelCredentials());
    channel->WaitForConnected(absl::ToChronoTime(absl::Now() + absl::Minutes(1)));
    AwaitQuiet();
    rank_processes_.Send("await-loss");
    const int64_t cpu = ProcessorNanosOf(pid());
    const int64_t begin = Nanos(CLOCK_MONOTONIC);
    if (const absl::Status reported = ReportExit(channel); !reported.ok()) return reported;
    Cost cost;
    if (const absl::Status known = Collect(begin, &cost); !known.ok()) return known;
    cost.daemon_us = static_cast<double>(ProcessorNanosOf(pid()) - cpu) / 1e3 / members_;
    return cost;
  }

  // Returns the least memory over some idle seconds.
  double ResidentOfMember() const {
    int64_t least = MemoryOf(pid()).resident;
    for (int i = 0; i < 30; ++i) {
      absl::SleepFor(absl::Milliseconds(100));
      least = std::min(least, MemoryOf(pid()).resident);
    }
    return static_cast<double>(least - before_) / members_;
  }

 private:
  pid_t pid() const { return daemon_->process().pid(); }
  std::string Attach() const { return "attach " + daemon_->address(); }

  absl::Status Send(const std::string& line) {
    rank_processes_.Send(line);
    return rank_processes_.Await("done").status();
  }

  // `begin` and `cpu`: the time, and the daemon's processor time, at the beginning.
  absl::StatusOr<Cost> Measure(int64_t begin, int64_t cpu, const std::vector<std::string>& lines) {
    Cost cost;
    for (const std::string& line : lines) {
      rank_processes_.Send(line);
      if (const absl::Status done = Collect(begin, &cost); !done.ok()) return done;
    }
    cost.daemon_us = static_cast<double>(ProcessorNanosOf(pid()) - cpu) / 1e3 / members_;
    return cost;
  }

  // Blocks until all parts have finished their commands, and adds up the costs.
  absl::Status Collect(int64_t begin, Cost* cost) {
    const auto answers = rank_processes_.Await("done");
    if (!answers.ok()) return answers.status();
    for (const RankProcesses::Numbers& answer : *answers) {
      cost->wall_ms = std::max(cost->wall_ms, static_cast<double>(answer.at(1) - begin) / 1e6);
      cost->member_us += static_cast<double>(answer.at(2)) / 1e3 / members_;
      cost->bytes += static_cast<double>(answer.at(3)) / members_;
    }
    return absl::OkStatus();
  }

  // Asks as the launcher of the node whose first member is `first`. Returns the answer's size.
  absl::StatusOr<size_t> AskInBrief(v1::CoordinatorService::Stub* stub, int first) const {
    v1::GetStatusRequest request;
    request.set_brief(true);
    const int end = std::min(first + kMembersOfNode, members_);
    for (int member = first; member < end; ++member) {
      request.add_incarnations(IncarnationOf(SecretOf(member)));
    }
    grpc::ClientContext context;
    v1::GetStatusResponse response;
    const grpc::Status status = stub->GetStatus(&context, request, &response);
    if (!status.ok()) return absl::InternalError(status.error_message());
    if (response.members_size() != end - first) {
      return absl::InternalError(absl::StrCat("a brief answer has ", response.members_size(),
                                              " members; expected ", end - first));
    }
    return response.ByteSizeLong();
  }

  absl::Status ReportExit(const std::shared_ptr<grpc::Channel>& channel) const {
    const auto stub = v1::CoordinatorService::NewStub(channel);
    v1::ReportExitRequest request;
    request.set_job_id("default");
    request.set_secret(SecretOf(members_ - 1));
    request.set_signal(kSignal);
    grpc::ClientContext context;
    v1::ReportExitResponse response;
    const grpc::Status status = stub->ReportExit(&context, request, &response);
    return status.ok() ? absl::OkStatus() : absl::InternalError(status.error_message());
  }

  // Blocks until the daemon has only its once-a-second work left.
  void AwaitQuiet() const {
    const absl::Duration look = absl::Milliseconds(300);
    for (int64_t used = -1; ProcessorNanosOf(pid()) - used > absl::ToInt64Nanoseconds(look) / 20;) {
      used = ProcessorNanosOf(pid());
      absl::SleepFor(look);
    }
  }

  const int members_;
  const int per_connection_;
  int64_t before_ = 0;
  std::unique_ptr<TestDaemon> daemon_;
  RankProcesses rank_processes_;
};

// Returns the cost with the median wall time.
Cost MedianOf(std::vector<Cost> costs) {
  std::sort(costs.begin(), costs.end(),
            [](const Cost& a, const Cost& b) { return a.wall_ms < b.wall_ms; });
  return costs[costs.size() / 2];
}

absl::StatusOr<Cost> Repeat(ScaleJob* job, const std::string& line, int rounds) {
  std::vector<Cost> costs;
  for (int round = 0; round < rounds; ++round) {
    const absl::StatusOr<Cost> cost = job->Run(line);
    if (!cost.ok()) return cost;
    costs.push_back(*cost);
  }
  return MedianOf(std::move(costs));
}

std::string Rounded(double value) {
  return value < 99.5 ? absl::StrFormat("%.3g", value) : absl::StrFormat("%.0f", value);
}

// Prints a table in Markdown, with a column for each size: first processor times, then wall times.
void PrintTable(const std::vector<Result>& results) {
  std::vector<std::string> head = {"daemon's CPU, us for each member"};
  for (const Result& result : results) head.push_back(absl::StrCat(result.members));
  head.push_back(absl::StrCat("wall, ms: ", results.front().members));
  for (size_t i = 1; i < results.size(); ++i) head.push_back(absl::StrCat(results[i].members));
  PrintHead(head);
  for (size_t step = 0; step < results.front().steps.size(); ++step) {
    std::vector<std::string> row = {results.front().steps[step].first};
    for (const Result& result : results)
      row.push_back(Rounded(result.steps[step].second.daemon_us));
    for (const Result& result : results) row.push_back(Rounded(result.steps[step].second.wall_ms));
    PrintLine(row);
  }
  std::vector<std::string> row = {"resident memory of the daemon, KiB for each member"};
  for (const Result& result : results) row.push_back(Rounded(result.resident / 1024));
  row.resize(head.size());
  PrintLine(row);
}

absl::StatusOr<Result> MeasureJob(int members, const Settings& settings) {
  ScaleJob job(members, settings);
  if (const absl::Status started = job.Start(); !started.ok()) return started;
  Result result{members, 0, {}};
  const auto add = [&](const std::string& name, const absl::StatusOr<Cost>& cost) {
    if (cost.ok()) result.steps.emplace_back(name, *cost);
    std::fprintf(stderr, ", %s", name.c_str());
    return cost.status();
  };
  const std::string gather = absl::StrCat("all-gather ", kGathered);
  const std::string gather_by_node = absl::StrCat("all-gather-by-node ", kGathered);
  std::fprintf(stderr, "scale: %d members: start", members);
  absl::Status done = add("form", job.Form());
  if (done.ok()) done = add("barrier", Repeat(&job, "barrier", settings.rounds));
  if (done.ok()) {
    done = add("barrier, one call a node", Repeat(&job, "barrier-by-node", settings.rounds));
  }
  if (done.ok()) done = add("all-gather of 128 bytes", Repeat(&job, gather, settings.rounds));
  if (done.ok()) {
    done = add("all-gather, one call a node", Repeat(&job, gather_by_node, settings.rounds));
  }
  if (done.ok()) result.resident = job.ResidentOfMember();
  if (done.ok()) done = add("all launchers ask for the state", job.Watch());
  if (done.ok()) done = add("restart to a completed barrier", job.Restart());
  if (done.ok()) done = add("a loss reported to all", job.Lose());
  std::fprintf(stderr, "\n");
  if (!done.ok()) return done;
  return result;
}

nlohmann::ordered_json ToJson(const Result& result) {
  nlohmann::ordered_json steps = nlohmann::ordered_json::object();
  for (const auto& [name, cost] : result.steps) {
    steps[name] = {{"wall_ms", cost.wall_ms},
                   {"daemon_cpu_us_per_member", cost.daemon_us},
                   {"client_cpu_us_per_member", cost.member_us},
                   {"answer_bytes_per_member", cost.bytes}};
  }
  return {{"members", result.members},
          {"resident_bytes_per_member", result.resident},
          {"steps", steps}};
}

bool WriteJson(const nlohmann::ordered_json& all, const std::string& path) {
  std::ofstream file(path);
  file << all.dump(1) << std::endl;
  return file.good();
}

int Fail(const std::string& what) {
  std::fprintf(stderr, "scale: %s\n", what.c_str());
  return 1;
}

int Main(const Settings& settings) {
  StopOnInterrupt();
  nlohmann::ordered_json all = {{"processors", std::thread::hardware_concurrency()},
                                {"members_per_connection", settings.per_connection},
                                {"sizes", nlohmann::ordered_json::array()}};
  std::vector<Result> results;
  for (const int members : settings.members) {
    const absl::StatusOr<Result> result = MeasureJob(members, settings);
    if (!result.ok()) return Fail(result.status().ToString());
    results.push_back(*result);
    all["sizes"].push_back(ToJson(*result));
    if (!settings.json.empty() && !WriteJson(all, settings.json)) {
      return Fail("cannot write " + settings.json);
    }
  }
  PrintTable(results);
  return 0;
}

}  // namespace
}  // namespace muster::testing

int main(int argc, char** argv) {
  muster::testing::Settings settings;
  CLI::App app("What a job of thousands costs musterd; the members are simulated.", "scale");
  app.add_option("--members", settings.members, "Sizes of jobs")
      ->capture_default_str()
      ->check(CLI::Range(64, 100000));
  app.add_option("--processes", settings.parts, "Processes that the members are spread over")
      ->capture_default_str()
      ->check(CLI::Range(1, 8));
  app.add_option("--per-connection", settings.per_connection, "Members that share a connection")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
  app.add_option("--rounds", settings.rounds, "Barriers and all-gathers; the median counts")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--json", settings.json, "File that gets the figures");
  CLI11_PARSE(app, argc, argv);
  settings.json = muster::testing::ResolveFromCaller(settings.json);
  return muster::testing::Main(settings);
}
