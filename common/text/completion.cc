#include "common/text/completion.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace muster {
namespace {

constexpr char kRun[] = "run";  // the command that is followed by a program

enum class ValueKind { kNone, kFile, kFolder, kOther };

ValueKind KindOfValue(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (option.get_items_expected_min() == 0)
    return ValueKind::kNone;  // or its value may be left out
  if (type == "FILE" || type == "PATH") return ValueKind::kFile;
  return type == "DIR" ? ValueKind::kFolder : ValueKind::kOther;
}

std::vector<const CLI::App*> CommandsOf(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

const CLI::App* FindCommand(const CLI::App& app, absl::string_view name) {
  for (const CLI::App* command : CommandsOf(app)) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

// Returns the flags in the help text that have a long name. Positional arguments have none.
std::vector<const CLI::Option*> FlagsOf(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) {
    return !option->get_lnames().empty() && !option->get_group().empty();
  });
}

std::string FlagsWithValue(const CLI::App& app, const std::vector<ValueKind>& values,
                           absl::string_view separator) {
  std::vector<std::string> names;
  for (const CLI::Option* flag : FlagsOf(app)) {
    if (std::find(values.begin(), values.end(), KindOfValue(*flag)) == values.end()) continue;
    for (const std::string& name : flag->get_lnames()) names.push_back("--" + name);
  }
  return absl::StrJoin(names, separator);
}

using ValueCompletions = std::vector<ValueCompletion>;

// Returns the words for a value, or null if only files are offered.
const ValueCompletion* FindCompletion(const ValueCompletions& values, const std::string& command,
                                      const std::string& flag) {
  for (const ValueCompletion& value : values) {
    if (value.command == command && value.flag == flag) return &value;
  }
  return nullptr;
}

// Returns the name by which `values` refer to `app`. It is empty for `program` itself.
std::string CommandName(const CLI::App& program, const CLI::App& app) {
  return &program == &app ? "" : app.get_name();
}

// Returns the bash code that offers a value. Names of jobs may contain anything, so no shell may
// expand them.
std::string BashCandidates(const ValueCompletion& value) {
  std::string offer;
  if (!value.words.empty()) {
    absl::StrAppend(&offer, "COMPREPLY=($(compgen -W '", absl::StrJoin(value.words, " "),
                    "' -- \"$word\")); ");
  }
  if (!value.printed_by.empty()) {
    absl::StrAppend(&offer, "while read -r i; do [[ $i != \"$word\"* ]] || COMPREPLY+=(\"$i\"); ",
                    "done < <(", value.printed_by, "); ");
  }
  return offer + "return";
}

// Returns the lines of a `case` over the previous word: the values of flags that take one.
std::string BashValues(const CLI::App& app, const std::string& command,
                       const ValueCompletions& values) {
  std::string lines;
  for (const CLI::Option* flag : FlagsOf(app)) {
    for (const std::string& name : flag->get_lnames()) {
      if (const ValueCompletion* value = FindCompletion(values, command, "--" + name)) {
        absl::StrAppend(&lines, "        --", name, ") ", BashCandidates(*value), " ;;\n");
      }
    }
  }
  const auto line = [&](ValueKind value, absl::string_view action) {
    const std::string names = FlagsWithValue(app, {value}, " | ");
    return names.empty() ? "" : absl::StrCat("        ", names, ") ", action, " ;;\n");
  };
  return absl::StrCat(lines,
                      line(ValueKind::kFile, "COMPREPLY=($(compgen -f -- \"$word\")); return"),
                      line(ValueKind::kFolder, "COMPREPLY=($(compgen -d -- \"$word\")); return"),
                      line(ValueKind::kOther, "return"));
}

std::string BashCommand(const CLI::App& program, const CLI::App& app, absl::string_view pattern,
                        const ValueCompletions& values) {
  constexpr ValueKind kAll[] = {ValueKind::kNone, ValueKind::kFile, ValueKind::kFolder,
                                ValueKind::kOther};
  const std::string command = CommandName(program, app);
  std::vector<std::string> words = {FlagsWithValue(app, {std::begin(kAll), std::end(kAll)}, " ")};
  for (const CLI::App* known : CommandsOf(app)) words.push_back(known->get_name());
  if (const ValueCompletion* value = FindCompletion(values, command, "")) {
    words.insert(words.end(), value->words.begin(), value->words.end());
  }
  if (command == kRun) words.push_back("--");
  return absl::StrCat("    ", pattern, ")\n      case $before in\n",
                      BashValues(app, command, values), "      esac\n      words='",
                      absl::StrJoin(words, " "), "'\n      ;;\n");
}

// Finds the command, and the user's program after `run`: the word after "--", or the first word
// that is neither a flag nor a flag's value. bash splits "--flag=value" into three words.
constexpr char kBash[] = R"(# Completion of $NAME for bash, written by $NAME itself.
_$NAME() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command= words= i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case $command:${COMP_WORDS[i]} in
$COMMANDS    esac
  done
  [[ $before != '=' ]] || before=${COMP_WORDS[COMP_CWORD - 2]}
  [[ $word != '=' ]] || word=
  case $command in
$CASES  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
$PROGRAM}
complete -o filenames -F _$NAME $NAME
)";

// Removes duplicates, since two folders of PATH may have a program of the same name.
constexpr char kBashProgram[] = R"(
_$NAME_program() {
  if declare -F _command_offset > /dev/null; then _command_offset "$1"; else COMPREPLY=($(compgen -c -f -- "$word")); fi
  ((${#COMPREPLY[@]} == 0)) || mapfile -t COMPREPLY < <(printf '%s\n' "${COMPREPLY[@]}" | sort -u)
}
)";

constexpr char kBashIsProgram[] =
    "  [[ $command != run || $word == -* || -z $word ]] || _$NAME_program \"$COMP_CWORD\"\n";

// Returns the lines of a `case` over the words before the one to complete.
std::string BashCommands(const CLI::App& app) {
  std::vector<std::string> names;
  std::string of_run;
  for (const CLI::App* command : CommandsOf(app)) {
    names.push_back(":" + command->get_name());
    if (command->get_name() != kRun) continue;
    const std::string flags =
        FlagsWithValue(*command, {ValueKind::kFile, ValueKind::kFolder, ValueKind::kOther},
                       absl::StrCat(" | ", kRun, ":"));
    of_run = absl::StrCat("      run:--) _$NAME_program $((i + 1)); return ;;\n      run:", flags,
                          ") [[ ${COMP_WORDS[i + 1]} != = ]] || ((++i)); ((++i)) ;;\n",
                          "      run:-*) [[ ${COMP_WORDS[i + 1]} != = ]] || ((i += 2)) ;;\n",
                          "      run:*) _$NAME_program $i; return ;;\n");
  }
  if (names.empty()) return "";
  return absl::StrCat(of_run, "      ", absl::StrJoin(names, " | "),
                      ") command=${COMP_WORDS[i]} ;;\n");
}

std::string Bash(const CLI::App& app, const ValueCompletions& values) {
  std::string cases;
  for (const CLI::App* command : CommandsOf(app)) {
    absl::StrAppend(&cases, BashCommand(app, *command, command->get_name(), values));
  }
  absl::StrAppend(&cases, BashCommand(app, app, "''", values));
  const bool runs = FindCommand(app, kRun) != nullptr;
  const std::string script = absl::StrReplaceAll(kBash, {{"$COMMANDS", BashCommands(app)},
                                                         {"$CASES", cases},
                                                         {"$PROGRAM", runs ? kBashIsProgram : ""}});
  return absl::StrReplaceAll(
      absl::StrCat(script.substr(0, script.find('\n') + 1), runs ? kBashProgram : "",
                   script.substr(script.find('\n') + 1)),
      {{"$NAME", app.get_name()}});
}

std::string ZshText(absl::string_view text) {
  return absl::StrReplaceAll(
      text, {{"'", "'\\''"}, {"[", "\\["}, {"]", "\\]"}, {":", "\\:"}, {"\n", " "}});
}

std::string ZshCandidates(const ValueCompletion& value) {
  if (value.printed_by.empty()) return absl::StrCat("(", absl::StrJoin(value.words, " "), ")");
  return absl::StrCat("{local -a offered=(", absl::StrJoin(value.words, " "), " ${(f)\"$(",
                      value.printed_by, ")\"}); compadd -a offered}");
}

std::string ZshFlag(const CLI::Option& option, const std::string& name,
                    const ValueCompletion* offered) {
  constexpr absl::string_view kActions[] = {"", "_files", "_files -/", " "};
  const ValueKind value = KindOfValue(option);
  const std::string action =
      offered != nullptr ? ZshCandidates(*offered) : std::string(kActions[static_cast<int>(value)]);
  const std::string argument =
      value == ValueKind::kNone ? ""
                                : absl::StrCat(":", ZshText(option.get_type_name()), ":", action);
  return absl::StrCat("'--", name, "[", ZshText(option.get_description()), "]", argument, "'");
}

// Returns the arguments for zsh's _arguments.
std::string ZshArguments(const CLI::App& app, const std::string& command,
                         const ValueCompletions& values) {
  std::string arguments;
  for (const CLI::Option* option : FlagsOf(app)) {
    for (const std::string& name : option->get_lnames()) {
      absl::StrAppend(&arguments, " \\\n        ",
                      ZshFlag(*option, name, FindCompletion(values, command, "--" + name)));
    }
  }
  if (command == kRun) absl::StrAppend(&arguments, " \\\n        '*::program:_normal'");
  if (const ValueCompletion* value = FindCompletion(values, command, "")) {
    absl::StrAppend(&arguments, " \\\n        '1:", command, ":", ZshCandidates(*value), "'");
  }
  return arguments;
}

std::string Zsh(const CLI::App& app, const ValueCompletions& values) {
  const std::string& name = app.get_name();
  std::string commands, cases;
  for (const CLI::App* command : CommandsOf(app)) {
    const std::string text = ZshText(command->get_description());
    absl::StrAppend(&commands, "        '", command->get_name(), ":", text, "'\n");
    absl::StrAppend(&cases, "    ", command->get_name(), ")\n      shift words; ((CURRENT--))\n",
                    "      _arguments", ZshArguments(*command, command->get_name(), values),
                    "\n      ;;\n");
  }
  const std::string describe =
      commands.empty()
          ? ""
          : absl::StrCat("      local -a commands=(\n", commands,
                         "      )\n      ((CURRENT > 2)) || _describe command commands\n");
  return absl::StrCat("#compdef ", name, "\n# Completion of ", name, " for zsh, written by ", name,
                      " itself.\n_", name, "() {\n  case $words[2] in\n", cases, "    *)\n",
                      describe, "      _arguments", ZshArguments(app, "", values),
                      "\n      ;;\n  esac\n}\n_", name, " \"$@\"\n");
}

}  // namespace

absl::StatusOr<std::string> CompletionScript(const CLI::App& app, absl::string_view shell,
                                             const std::vector<ValueCompletion>& values) {
  if (shell == "bash") return Bash(app, values);
  if (shell == "zsh") return Zsh(app, values);
  return absl::InvalidArgumentError(
      absl::StrCat("there is completion for bash and zsh, not for '", shell, "'"));
}

}  // namespace muster
