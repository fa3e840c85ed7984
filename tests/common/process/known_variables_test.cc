// Tests that Muster knows all of its variables, and suggests the nearest name for misspelt ones.
#include "common/process/known_variables.h"

#include <regex>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/process/process.h"

namespace muster {
namespace {

using ::muster::testing::Process;
using ::muster::testing::ReadFile;
using ::muster::testing::Runfile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::UnorderedElementsAreArray;

// Returns the whole names. "MUSTER_TEST_..." and "MUSTER_TLS_*" stand for several.
std::set<std::string> NamesIn(const std::string& text) {
  const std::regex name("\\bMUSTER_[A-Z0-9_]*[A-Z0-9]\\b(?![_*])");
  std::set<std::string> names;
  for (std::sregex_iterator it(text.begin(), text.end(), name), end; it != end; ++it) {
    names.insert(it->str());
  }
  return names;
}

std::string HelpOf(const std::vector<std::string>& command) {
  const auto process = Process::Start(command);
  EXPECT_EQ(process->Wait(), (testing::Exit{false, 0})) << process->Output();
  return process->Output();
}

TEST(KnownVariablesTest, MatchDocumentationAndMusterdFlags) {
  std::set<std::string> documented = NamesIn(ReadFile(Runfile("docs/environment.md")));
  documented.merge(NamesIn(HelpOf({Runfile("server/musterd"), "--help"})));
  EXPECT_THAT(KnownVariables(), UnorderedElementsAreArray(documented))
      << "common/process/known_variables.cc, docs/environment.md and the flags must agree";
}

TEST(KnownVariablesTest, IncludeVariablesInCommandHelp) {
  for (const char* command : {"run", "status", "debug", "health", "replay"}) {
    const auto named = NamesIn(HelpOf({Runfile("client/cli/muster"), command, "--help"}));
    EXPECT_THAT(KnownVariables(), IsSupersetOf(named)) << command;
  }
}

TEST(UnknownVariableWarningsTest, SuggestTheNearestName) {
  EXPECT_THAT(UnknownVariableWarnings({"MUSTER_COORDINATR=h:1", "MUSTER_JOB=a", "PATH=/bin"}),
              ElementsAre("the variable MUSTER_COORDINATR means nothing to Muster; did you mean "
                          "MUSTER_COORDINATOR?"));
  EXPECT_THAT(UnknownVariableWarnings({"MUSTER_WORLDSIZE=2", "MUSTER_LISTEM=x"}),
              ElementsAre(HasSubstr("mean MUSTER_WORLD_SIZE?"), HasSubstr("mean MUSTER_LISTEN?")));
  EXPECT_THAT(UnknownVariableWarnings({"MUSTER_FROBNICATE=1"}),
              ElementsAre("the variable MUSTER_FROBNICATE means nothing to Muster; "
                          "docs/environment.md lists the known variables"));
}

TEST(UnknownVariableWarningsTest, SkipVariablesOfOtherPrograms) {
  EXPECT_THAT(UnknownVariableWarnings({"MUSTER=/opt/muster", "MUSTERED=1", "MUSTER_TEST_SEED=1",
                                       "MUSTER_WITHOUT_CUDA=1", "MUSTER_NCCL_SOURCES=/s"}),
              IsEmpty());
}

TEST(UnknownVariableWarningsTest, SkipKubernetesServiceVariables) {
  EXPECT_THAT(
      UnknownVariableWarnings({"MUSTER_SERVICE_HOST=10.0.0.1", "MUSTER_SERVICE_PORT=7370",
                               "MUSTER_SERVICE_PORT_GRPC=7370", "MUSTER_PORT=tcp://10.0.0.1:7370",
                               "MUSTER_COORDINATOR_PORT_7370_TCP=tcp://10.0.0.1:7370",
                               "MUSTER_COORDINATOR_PORT_7370_TCP_ADDR=10.0.0.1",
                               "MUSTER_COORDINATOR_PORT_7370_TCP_PROTO=tcp"}),
      IsEmpty());
  EXPECT_THAT(UnknownVariableWarnings({"MUSTER_MASTER_PORT=29500"}), ElementsAre(HasSubstr("")));
}

}  // namespace
}  // namespace muster
