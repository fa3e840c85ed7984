#include "client/cli/flags/run_arguments.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace muster::cli {
namespace {

using Arguments = std::vector<std::string>;

constexpr char kDashes[] = "--";
constexpr char kHelp[] = "--help";
constexpr char kShortHelp[] = "-h";

std::string FlagName(const std::string& word) { return word.substr(0, word.find('=')); }

bool IsFlag(const std::string& word) { return word.size() > 1 && word[0] == '-'; }

bool IsKnown(const std::string& name, const KnownFlags& known) {
  return known.with_value.count(name) + known.without_value.count(name) > 0;
}

bool TakesValue(const std::string& flag, const KnownFlags& known) {
  return known.with_value.count(flag) > 0;  // the flag has no "=" here
}

absl::StatusOr<Arguments> ProgramWithoutDashes(Arguments program, const KnownFlags& known) {
  if (std::find(program.begin(), program.end(), kDashes) != program.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("it is unclear whether the program is '", program[0],
                     "' or what follows --; put the flags first, then -- and the program"));
  }
  for (const std::string& word : program) {
    const std::string name = FlagName(WithDashes(word, known));
    const bool help =
        word == kHelp || word == kShortHelp;  // the program's own help, never that of muster
    if (!IsFlag(word) || help || !IsKnown(name, known)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(name, " follows the program '", program[0],
                     "'; if it is a flag of muster run, put it before the program; if it is the "
                     "program's own, put -- before the program"));
  }
  return program;
}

}  // namespace

std::string WithDashes(const std::string& word, const KnownFlags& known) {
  const std::string name = FlagName(word);
  std::string dashed = name;
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  if (!absl::StartsWith(word, kDashes) || !IsKnown(dashed, known)) return word;
  return absl::StrCat(dashed, word.substr(name.size()));
}

absl::StatusOr<RunArguments> SplitRunArguments(const Arguments& words, const KnownFlags& known) {
  RunArguments split;
  for (auto word = words.begin(); word != words.end(); ++word) {
    if (*word == kDashes) {
      split.program.assign(word + 1, words.end());
      break;
    }
    if (!IsFlag(*word)) {
      absl::StatusOr<Arguments> program = ProgramWithoutDashes({word, words.end()}, known);
      if (!program.ok()) return program.status();
      split.program = *std::move(program);
      break;
    }
    split.flags.push_back(WithDashes(*word, known));
    const std::string& flag = split.flags.back();
    if (!IsKnown(FlagName(flag), known)) break;  // the next word may be its value, or the program
    const auto next = word + 1;
    if (!TakesValue(flag, known) || next == words.end() || *next == kDashes) continue;
    split.flags.push_back(*next);
    word = next;
  }
  return split;
}

}  // namespace muster::cli
