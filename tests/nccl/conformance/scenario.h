#ifndef MUSTER_TESTS_NCCL_CONFORMANCE_SCENARIO_H_
#define MUSTER_TESTS_NCCL_CONFORMANCE_SCENARIO_H_

#include <map>
#include <string>
#include <vector>

// The text of a scenario: the steps of the ranks, and NCCL's answers. README.md describes the
// format.
namespace muster::testing {

// The library that a scenario runs on.
struct Subject {
  bool fake = false;
  bool cumem = false;  // connects at the first operation, as on GPUs with cuMem
  int version = 0;     // as ncclGetVersion() returns it
};

// A condition like "[fake >=2.27.7]". Every word must hold.
struct Condition {
  std::vector<std::string> words;
};
bool Holds(const Condition& condition, const Subject& subject);

struct Expectation {
  Condition condition;
  int rank = -1;  // -1: every rank that the step addresses
  std::string answer;
};

struct Step {
  int line = 0;
  Condition condition;
  std::vector<int> ranks;  // empty: all ranks
  std::string command;
  std::vector<Expectation> expected;
};

struct Scenario {
  std::string name;
  int ranks = 1;
  Condition condition;                                    // the library has what the scenario needs
  std::map<int, std::map<std::string, std::string>> env;  // by rank; -1: all ranks
  std::vector<Step> steps;
  std::vector<std::string> errors;  // lines that could not be parsed
};

Scenario ParseScenario(const std::string& text);

// Returns the answer that the step expects of the rank on this library, or "" if the text has none.
std::string ExpectedAnswer(const Step& step, int rank, const Subject& subject);

// Returns whether the words are equal. An expected word may be a choice: "Success|InProgress".
bool Matches(const std::string& expected, const std::string& answer);

// Returns VALUE of "name=VALUE" in a command, or `otherwise` if the command has no such option.
std::string Option(const std::string& command, const std::string& name,
                   const std::string& otherwise = "");

}  // namespace muster::testing

#endif  // MUSTER_TESTS_NCCL_CONFORMANCE_SCENARIO_H_
