#include "tests/nccl/conformance/scenario.h"

#include <cstdlib>
#include <sstream>

namespace muster::testing {
namespace {

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

std::string Trim(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// Returns the version "2.27.7" as ncclGetVersion() writes it.
int VersionOf(const std::string& text) {
  int code = 0;
  for (const std::string& part : Split(text, '.')) code = code * 100 + std::atoi(part.c_str());
  return code;
}

bool HoldsWord(const std::string& word, const Subject& subject) {
  if (word == "fake") return subject.fake;
  if (word == "real") return !subject.fake;
  if (word == "cumem") return subject.cumem;
  if (word == "no-cumem") return !subject.cumem;
  if (word.rfind(">=", 0) == 0) return subject.version >= VersionOf(word.substr(2));
  return word.rfind('<', 0) == 0 && subject.version < VersionOf(word.substr(1));
}

// Takes "[...]" from the front of the text.
Condition TakeCondition(std::string* text) {
  Condition condition;
  if (text->empty() || text->front() != '[') return condition;
  const size_t end = text->find(']');
  if (end == std::string::npos) return condition;
  condition.words = Split(text->substr(1, end - 1), ' ');
  *text = Trim(text->substr(end + 1));
  return condition;
}

// Takes "0 2:" or "all:" from the front of the text. Returns false if the text does not begin with
// ranks.
bool TakeRanks(std::string* text, std::vector<int>* ranks) {
  const size_t colon = text->find(':');
  if (colon == std::string::npos) return false;
  const std::string head = text->substr(0, colon);
  const bool all = head == "all";
  if (!all && head.find_first_not_of("0123456789 ") != std::string::npos) return false;
  for (const std::string& word : Split(all ? "" : head, ' ')) {
    ranks->push_back(std::atoi(word.c_str()));
  }
  *text = Trim(text->substr(colon + 1));
  return true;
}

Step ParseStep(std::string text, int line) {
  Step step;
  step.line = line;
  step.condition = TakeCondition(&text);
  TakeRanks(&text, &step.ranks);
  step.command = text;
  return step;
}

bool ParseExpectation(std::string text, Step* step) {
  const Condition condition = TakeCondition(&text);
  std::vector<int> ranks;
  if (!TakeRanks(&text, &ranks)) return false;
  if (ranks.empty()) ranks.push_back(-1);
  for (int rank : ranks) step->expected.push_back({condition, rank, text});
  return true;
}

// Parses "env NAME=VALUE" or "env RANK: NAME=VALUE".
bool ParseEnv(std::string text, Scenario* scenario) {
  std::vector<int> ranks;
  TakeRanks(&text, &ranks);
  if (ranks.empty()) ranks.push_back(-1);
  const size_t equals = text.find('=');
  if (equals == std::string::npos) return false;
  for (int rank : ranks) {
    scenario->env[rank][text.substr(0, equals)] = text.substr(equals + 1);
  }
  return true;
}

bool ParseLine(const std::string& raw, int number, Scenario* scenario) {
  std::string text = Trim(raw);
  if (text.empty() || text.front() == '#') return true;
  if (text.front() == '>') {
    scenario->steps.push_back(ParseStep(Trim(text.substr(1)), number));
    return true;
  }
  if (!scenario->steps.empty()) return ParseExpectation(text, &scenario->steps.back());
  if (text.rfind("ranks ", 0) == 0) {
    scenario->ranks = std::atoi(text.c_str() + 6);
    return true;
  }
  if (text.rfind("only ", 0) == 0) {
    text = text.substr(5);
    scenario->condition = TakeCondition(&text);
    return text.empty();
  }
  return text.rfind("env ", 0) == 0 && ParseEnv(text.substr(4), scenario);
}

}  // namespace

bool Holds(const Condition& condition, const Subject& subject) {
  for (const std::string& word : condition.words) {
    if (!HoldsWord(word, subject)) return false;
  }
  return true;
}

Scenario ParseScenario(const std::string& text) {
  Scenario scenario;
  std::stringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (ParseLine(line, number, &scenario)) continue;
    scenario.errors.push_back("line " + std::to_string(number) + ": " + line);
  }
  return scenario;
}

std::string ExpectedAnswer(const Step& step, int rank, const Subject& subject) {
  for (const Expectation& expectation : step.expected) {
    const bool addressed = expectation.rank == -1 || expectation.rank == rank;
    if (addressed && Holds(expectation.condition, subject)) return expectation.answer;
  }
  return "";
}

bool Matches(const std::string& expected, const std::string& answer) {
  const std::vector<std::string> words = Split(expected, ' ');
  const std::vector<std::string> got = Split(answer, ' ');
  if (words.size() != got.size()) return false;
  for (size_t i = 0; i < words.size(); ++i) {
    bool found = false;
    for (const std::string& choice : Split(words[i], '|')) found = found || choice == got[i];
    if (!found) return false;
  }
  return true;
}

std::string Option(const std::string& command, const std::string& name,
                   const std::string& otherwise) {
  for (const std::string& word : Split(command, ' ')) {
    if (word.rfind(name + "=", 0) == 0) return word.substr(name.size() + 1);
  }
  return otherwise;
}

}  // namespace muster::testing
