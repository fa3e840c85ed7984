// Steps that call helpers, which run a function on some of the ranks. The step is
//
//   help=SCENARIO[,in-scope][,FAULT,RANK]
//
// SCENARIO is one of Scenarios() below. It calls one helper, as a program would, with a function
// whose value names the rank that runs it. With in-scope, only the last rank calls the helper,
// inside a PreventBlock scope. FAULT is a fault on RANK:
//
//   fails, throws    the function fails, or throws
//   hangs            the function never ends
//   late             the function takes 11 seconds
//   post-fails       the function that runs after it fails
//   reduce-fails     the function that reduces fails
//
// A rank prints "runs" when it runs the function, "posts" when it runs the function after it, and
// the helper's result: "got VALUE".

#include <unistd.h>

#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "muster/communicator.h"
#include "muster/log.h"
#include "muster/scopes.h"
#include "muster/toolkits.h"
#include "tests/rank/interpreter.h"
#include "tests/rank/steps.h"

namespace muster::testing {
namespace {

using toolkits::AllGather;
using toolkits::BackendOf;
using toolkits::Barrier;
using toolkits::Broadcast;
using toolkits::CommunicationModel;
using toolkits::ComputeAndBroadcast;
using toolkits::DeviceOf;
using toolkits::GatherFromAllRanks;
using toolkits::GatherScalarFromAllRanks;
using toolkits::GpuMemUsage;
using toolkits::MainOnly;
using toolkits::OncePerNode;
using toolkits::OneRankOnly;
using toolkits::OneRankOptions;
using toolkits::ReduceAndBroadcast;
using toolkits::RunOnLocalRankZero;
using toolkits::RunOnMain;
using toolkits::ShowConfig;
using toolkits::Synchronize;
using toolkits::ZeroFirst;
using toolkits::ZeroOnly;

constexpr absl::Duration kLate = absl::Seconds(11);

using Text = absl::StatusOr<std::string>;
using MoveOnlyText = absl::StatusOr<std::unique_ptr<std::string>>;

struct Fault {
  std::string kind;
  int rank = -1;
};

// Functions and values for the scenarios.
class Scene {
 public:
  Scene(Job& job, Fault fault) : job(job), fault_(std::move(fault)) {}

  Text Work() const {
    Print("runs");
    if (Has("hangs")) Hang();
    if (Has("late")) static_cast<void>(job.AwaitFailure(kLate));
    if (Has("throws")) throw std::runtime_error("torn");
    if (Has("fails")) return absl::DataLossError("torn");
    return absl::StrCat("of ", job.rank());
  }
  Text Post() const {
    Print("posts");
    if (Has("post-fails")) return absl::DataLossError("torn");
    return absl::StrCat("post of ", job.rank());
  }
  absl::StatusOr<int> Total(const std::vector<int>& numbers) const {
    if (Has("reduce-fails")) return absl::DataLossError("torn");
    return std::accumulate(numbers.begin(), numbers.end(), 0);
  }

  int Last() const { return job.world_size() - 1; }

  Job& job;
  const std::function<Text()> work = [this] { return Work(); };
  const std::function<Text()> post = [this] { return Post(); };
  // Work() with values that can be neither copied nor sent to other processes.
  const std::function<MoveOnlyText()> move_only_work = [this] { return MoveOnly(Work()); };
  const std::function<MoveOnlyText()> move_only_post = [this] { return MoveOnly(Post()); };
  // Work() with numbers.
  const std::function<absl::StatusOr<int>()> count = [this]() -> absl::StatusOr<int> {
    const Text worked = Work();
    if (!worked.ok()) return worked.status();
    return 10 * (job.rank() + 1);
  };

 private:
  bool Has(const std::string& kind) const {
    return fault_.kind == kind && fault_.rank == job.rank();
  }

  [[noreturn]] static void Hang() {
    Print("hangs");
    while (true) pause();
  }

  static MoveOnlyText MoveOnly(Text text) {
    if (!text.ok()) return text.status();
    return std::make_unique<std::string>(*std::move(text));
  }

  const Fault fault_;
};

// ---- Results of helpers as text ----

std::string Say(const std::string& text) { return text; }
std::string Say(int number) { return absl::StrCat(number); }
std::string Say(const std::unique_ptr<std::string>& text) { return *text; }
template <class T>
std::string Say(const std::vector<T>& list) {
  return absl::StrCat("[", absl::StrJoin(list, ","), "]");
}
template <class T>
std::string Say(const std::optional<T>& value) {
  return value ? Say(*value) : "nothing";
}
template <class T>
Text Tell(const absl::StatusOr<T>& value) {
  if (!value.ok()) return value.status();
  return Say(*value);
}
Text Tell(const absl::Status& status) {
  if (!status.ok()) return status;
  return std::string("through");
}

// ---- The scenarios ----

template <class Scope>
Text InScope(Scene& scene) {
  if (Scope scope{scene.job}) return scene.Work();
  return std::string("nothing");
}

Text OnOneRank(Scene& scene, int rank, bool with_barrier) {
  OneRankOptions options;
  options.rank = rank;
  options.with_barrier = with_barrier;
  return Tell(OneRankOnly(scene.job, scene.work, options));
}

// Nests scopes, and leaves one by an exception.
Text NestedScopes(Scene& scene) {
  Job& job = scene.job;
  try {
    const PreventBlock outer(job);
    if (MainScope main{job}) Print(absl::StrCat("main ", job.prevents_block()));
    if (OncePerNodeScope once{job}) Print(absl::StrCat("once ", job.prevents_block()));
    if (!job.Barrier("which only I call").ok()) return std::string("no barrier");
    throw std::runtime_error("out of the block");
  } catch (const std::runtime_error& error) {
    Print(absl::StrCat(error.what(), " ", job.prevents_block()));
  }
  return Tell(Barrier(job, "after the scopes"));
}

// Creates the communicator outside the scope. Inside, the sum is the caller's own number.
Text AllReduceInAScope(Scene& scene) {
  const auto communicator = Communicator::Create(scene.job);
  if (!communicator.ok()) return communicator.status();
  std::vector<int> alone = {scene.job.rank() + 1};
  if (const PreventBlock scope(scene.job); scene.job.rank() == scene.Last()) {
    const absl::Status reduced = (*communicator)->AllReduce(absl::MakeSpan(alone));
    if (!reduced.ok()) return reduced;
  }
  std::vector<int> all = {scene.job.rank() + 1};
  const absl::Status reduced = (*communicator)->AllReduce(absl::MakeSpan(all));
  if (!reduced.ok()) return reduced;
  return absl::StrCat(alone[0], " alone, ", all[0], " together");
}

Text Device(Job& job) {
  const absl::StatusOr<std::string> device = DeviceOf(job);
  const absl::StatusOr<std::string> backend = BackendOf(job);
  if (!device.ok()) return device.status();
  if (!backend.ok()) return backend.status();
  return absl::StrCat(*device, ", backend '", *backend, "', model ", CommunicationModel(job), ", ",
                      GpuMemUsage(), " MiB");
}

Text Config(Job& job) {
  std::string config;
  SetLogSink([&config](LogLevel, absl::string_view line) {
    if (absl::StrContains(line, "configuration")) config = std::string(line);
  });
  ShowConfig(job);
  SetLogSink(nullptr);
  return config;
}

using Scenario = std::function<Text(Scene&)>;

const std::map<std::string, Scenario>& Scenarios() {
  static const auto* const kScenarios = new std::map<std::string, Scenario>{
      {"run-on-main", [](Scene& s) { return Tell(RunOnMain(s.job, s.work)); }},
      {"run-on-main-post", [](Scene& s) { return Tell(RunOnMain(s.job, s.work, s.post)); }},
      {"run-on-main-post-all",
       [](Scene& s) { return Tell(RunOnMain(s.job, s.work, s.post, /*run_post_on_main=*/true)); }},
      {"main-only", [](Scene& s) { return Tell(MainOnly(s.job, s.work)); }},
      {"compute-and-broadcast",
       [](Scene& s) { return Tell(ComputeAndBroadcast(s.job, s.work, s.Last())); }},
      {"one-rank-only", [](Scene& s) { return OnOneRank(s, s.Last(), false); }},
      {"one-rank-only-nowhere", [](Scene& s) { return OnOneRank(s, s.Last() + 1, false); }},
      {"one-rank-only-with-barrier", [](Scene& s) { return OnOneRank(s, s.Last(), true); }},
      {"run-once-per-node",
       [](Scene& s) { return Tell(RunOnLocalRankZero(s.job, s.move_only_work)); }},
      {"run-once-per-node-post",
       [](Scene& s) {
         return Tell(RunOnLocalRankZero(s.job, s.move_only_work, s.move_only_post));
       }},
      {"run-once-per-node-post-all",
       [](Scene& s) {
         return Tell(
             RunOnLocalRankZero(s.job, s.count, s.move_only_post, /*run_post_on_all=*/true));
       }},
      {"once-per-node", [](Scene& s) { return Tell(OncePerNode(s.job, s.move_only_work)); }},
      {"main-scope", InScope<MainScope>},
      {"zero-only", InScope<ZeroOnly>},
      {"once-per-node-scope", InScope<OncePerNodeScope>},
      {"nested-scopes", NestedScopes},
      {"all-reduce-in-a-scope", AllReduceInAScope},
      {"zero-first",
       [](Scene& s) { return Tell(ZeroFirst(s.job, s.job.local_rank() == 0, s.work)); }},
      {"broadcast",
       [](Scene& s) {
         const std::vector<std::string> mine = {"from", absl::StrCat(s.job.rank())};
         return Tell(Broadcast(s.job, mine, s.Last()));
       }},
      {"gather", [](Scene& s) { return Tell(GatherFromAllRanks(s.job, s.work, s.Last())); }},
      {"gather-scalar", [](Scene& s) { return Tell(GatherScalarFromAllRanks(s.job, s.count)); }},
      {"reduce-and-broadcast",
       [](Scene& s) {
         return Tell(ReduceAndBroadcast(
             s.job, s.count, [&s](const std::vector<int>& all) { return s.Total(all); }));
       }},
      {"all-gather-numbers", [](Scene& s) { return Tell(AllGather(s.job, s.job.rank())); }},
      {"all-gather-strings",
       [](Scene& s) { return Tell(AllGather(s.job, std::string(s.job.rank(), 'x'))); }},
      {"device", [](Scene& s) { return Device(s.job); }},
      {"show-config", [](Scene& s) { return Config(s.job); }},
      {"barrier", [](Scene& s) { return Tell(Barrier(s.job, "here")); }},
      {"synchronize", [](Scene& s) { return Tell(Synchronize(s.job)); }},
  };
  return *kScenarios;
}

// Calls the helper on the last rank only.
Text OnLastInScope(Scene& scene, const Scenario& scenario) {
  if (scene.job.rank() != scene.Last()) return std::string("nothing");
  const PreventBlock alone(scene.job);
  return scenario(scene);
}

absl::Status Help(Job& job, const std::string& argument) {
  const std::vector<std::string> words = absl::StrSplit(argument, ',');
  const auto scenario = Scenarios().find(words[0]);
  if (scenario == Scenarios().end()) return absl::NotFoundError(words[0]);
  const bool in_scope = words.size() > 1 && words[1] == "in-scope";
  Fault fault;
  if (words.size() == 3) fault = {words[1], std::stoi(words[2])};
  Scene scene(job, fault);
  const Text got = in_scope ? OnLastInScope(scene, scenario->second) : scenario->second(scene);
  if (!got.ok()) return got.status();
  Print(absl::StrCat("got ", *got));
  return absl::OkStatus();
}

}  // namespace

Steps HelperSteps() { return {{"help", Help}}; }

}  // namespace muster::testing
