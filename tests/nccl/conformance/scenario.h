#ifndef MUSTER_TESTS_NCCL_CONFORMANCE_SCENARIO_H_
#define MUSTER_TESTS_NCCL_CONFORMANCE_SCENARIO_H_

#include <map>
#include <string>
#include <vector>

// The text of a scenario: steps that ranks take, and what NCCL answers. README.md describes the
// format.
namespace muster::testing {

// The library that a scenario runs on.
struct Subject {
  bool fake = false;
  bool cumem = false;  // connects at the first operation, as on GPUs with cuMem
  int version = 0;     // as ncclGetVersion() says it
};

// "[fake >=2.27.7]": each word must hold.
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
  std::vector<int> ranks;  // empty: all
  std::string command;
  std::vector<Expectation> expected;
};

struct Scenario {
  std::string name;
  int ranks = 1;
  Condition condition;                                    // the library has what the scenario needs
  std::map<int, std::map<std::string, std::string>> env;  // by rank; -1: of all ranks
  std::vector<Step> steps;
  std::vector<std::string> errors;  // lines that mean nothing
};

Scenario ParseScenario(const std::string& text);

// What the step expects of the rank on this library; empty where the text says nothing.
std::string ExpectedAnswer(const Step& step, int rank, const Subject& subject);

// Whether the words are the same. An expected word may be a choice: "Success|InProgress".
bool Matches(const std::string& expected, const std::string& answer);

// The value of "name=VALUE" in a command; `otherwise` if it has none.
std::string Option(const std::string& command, const std::string& name,
                   const std::string& otherwise = "");

}  // namespace muster::testing

#endif  // MUSTER_TESTS_NCCL_CONFORMANCE_SCENARIO_H_
