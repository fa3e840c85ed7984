// Runs each scenario on the library that the rank program is linked with, and compares its answers
// with the transcript. README.md says how to add a step.
//
//   conformance_test RANK_PROGRAM SCENARIO...

#include <nccl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/nccl/conformance/rank_process.h"
#include "tests/nccl/conformance/scenario.h"
#include "tests/nccl/libraries.h"
#include "tests/util/process/process.h"

namespace muster::testing {
namespace {

using Milliseconds = std::chrono::milliseconds;

constexpr int kAnswerSeconds = 30;

class ScenarioRun {
 public:
  ScenarioRun(const std::string& program, Scenario scenario)
      : scenario_(std::move(scenario)), directory_(MakeTempDir()) {
    for (int rank = 0; rank < scenario_.ranks; ++rank) {
      ranks_.push_back(std::make_unique<RankProcess>(program, rank, EnvOf(rank), LogOf(rank)));
    }
    ReadSubject();
  }

  void TakeSteps() {
    for (const Step& step : scenario_.steps) {
      if (Holds(step.condition, subject_)) Take(step);
    }
    if (HasFailure()) ShowLogs();
  }

 private:
  static bool HasFailure() { return ::testing::Test::HasFailure(); }
  std::string LogOf(int rank) const { return directory_ + "/" + std::to_string(rank); }

  RankProcess::Env EnvOf(int rank) const {
    RankProcess::Env env = NcclVariables();
    env["NCCL_RAS_ENABLE"] = "0";  // RAS listens on one port of the machine
    env["CONFORMANCE_DIRECTORY"] = directory_;
    env["CONFORMANCE_RANKS"] = std::to_string(scenario_.ranks);
    for (int key : {-1, rank}) {
      const auto it = scenario_.env.find(key);
      if (it == scenario_.env.end()) continue;
      for (const auto& [name, value] : it->second) env[name] = value;
    }
    return env;
  }

  void ReadSubject() {
    ranks_[0]->Send("subject");
    const std::string answer = ranks_[0]->Await(std::chrono::seconds(kAnswerSeconds));
    subject_.fake = Option(answer, "fake") == "1";
    subject_.cumem = Option(answer, "cumem") == "1";
    subject_.version = std::atoi(Option(answer, "version").c_str());
    ASSERT_GT(subject_.version, 0) << answer << ranks_[0]->Log();
  }

  std::vector<int> Addressed(const Step& step) const {
    std::vector<int> ranks;
    for (int rank = 0; rank < scenario_.ranks; ++rank) {
      bool named = step.ranks.empty();
      for (int other : step.ranks) named = named || other == rank;
      if (named && !ranks_[rank]->ended()) ranks.push_back(rank);
    }
    return ranks;
  }

  void Take(const Step& step) {
    const std::vector<int> addressed = Addressed(step);
    const double seconds =
        std::atof(Option(step.command, "within", std::to_string(kAnswerSeconds)).c_str());
    const bool awaits = step.command.rfind("await", 0) == 0;
    for (int rank : addressed) {
      if (!awaits) ranks_[rank]->Send(step.command);
    }
    for (int rank : addressed) {
      Check(step, rank, ranks_[rank]->Await(Milliseconds(static_cast<int>(seconds * 1000))));
    }
  }

  void Check(const Step& step, int rank, const std::string& answer) const {
    if (const char* path = std::getenv("CONFORMANCE_RECORD")) {
      std::ofstream(path, std::ios::app)
          << scenario_.name << '\t' << step.line << '\t' << rank << '\t' << answer << '\n';
    }
    const std::string expected = ExpectedAnswer(step, rank, subject_);
    EXPECT_TRUE(Matches(expected, answer))
        << "line " << step.line << " > " << rank << ": " << step.command << "\n  expected "
        << expected << "\n  " << rank << ": " << answer;
  }

  void ShowLogs() const {
    for (int rank = 0; rank < scenario_.ranks; ++rank) {
      const std::string log = ranks_[rank]->Log();
      if (!log.empty()) std::printf("rank %d wrote:\n%s\n", rank, log.c_str());
    }
  }

  const Scenario scenario_;
  const std::string directory_;
  Subject subject_;
  std::vector<std::unique_ptr<RankProcess>> ranks_;
};

// Returns whether the library under test has what the scenario needs. The fake has the version of
// the headers.
bool IsOfThisVersion(const std::string& path) {
  Subject subject;
  subject.fake = NcclUnderTest().empty();
  subject.version = subject.fake ? NCCL_VERSION_CODE : NcclVersionCode();
  return Holds(ParseScenario(ReadFile(path)).condition, subject);
}

class ScenarioTest : public ::testing::Test {
 public:
  ScenarioTest(std::string program, std::string path)
      : program_(std::move(program)), path_(std::move(path)) {}

  void TestBody() override {
    Scenario scenario = ParseScenario(ReadFile(path_));
    scenario.name = std::filesystem::path(path_).stem().string();
    for (const std::string& error : scenario.errors) ADD_FAILURE() << path_ << " " << error;
    ASSERT_FALSE(scenario.steps.empty()) << path_;
    ScenarioRun run(program_, std::move(scenario));
    if (!HasFailure()) run.TakeSteps();
  }

 private:
  const std::string program_;
  const std::string path_;
};

}  // namespace
}  // namespace muster::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (argc < 3) return 1;
  const std::string program = argv[1];
  for (int i = 2; i < argc; ++i) {
    const std::string path = argv[i];
    if (!muster::testing::IsOfThisVersion(path)) continue;
    const std::string name = std::filesystem::path(path).stem().string();
    ::testing::RegisterTest("Conformance", name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            [program, path]() -> ::testing::Test* {
                              return new muster::testing::ScenarioTest(program, path);
                            });
  }
  return RUN_ALL_TESTS();
}
