#include "common/completion.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace muster {
namespace {

enum class Value { kNone, kFile, kFolder, kOther };

Value ValueOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (option.get_items_expected_min() == 0) return Value::kNone;  // or it may be left out
  if (type == "FILE" || type == "PATH") return Value::kFile;
  return type == "DIR" ? Value::kFolder : Value::kOther;
}

std::vector<const CLI::App*> CommandsOf(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// Those of the help text that have a long name: positionals have none.
std::vector<const CLI::Option*> FlagsOf(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) {
    return !option->get_lnames().empty() && !option->get_group().empty();
  });
}

std::string NamesOf(const CLI::App& app, const std::vector<Value>& values,
                    absl::string_view separator) {
  std::vector<std::string> names;
  for (const CLI::Option* flag : FlagsOf(app)) {
    if (std::find(values.begin(), values.end(), ValueOf(*flag)) == values.end()) continue;
    for (const std::string& name : flag->get_lnames()) names.push_back("--" + name);
  }
  return absl::StrJoin(names, separator);
}

// The lines of a `case` over the word before: what may follow a flag that takes something.
std::string BashValues(const CLI::App& app) {
  const auto line = [&](Value value, absl::string_view action) {
    const std::string names = NamesOf(app, {value}, " | ");
    return names.empty() ? "" : absl::StrCat("        ", names, ") ", action, " ;;\n");
  };
  return absl::StrCat(line(Value::kFile, "COMPREPLY=($(compgen -f -- \"$word\")); return"),
                      line(Value::kFolder, "COMPREPLY=($(compgen -d -- \"$word\")); return"),
                      line(Value::kOther, "return"));
}

std::string BashCommand(const CLI::App& app, absl::string_view pattern, absl::string_view more) {
  constexpr Value kAll[] = {Value::kNone, Value::kFile, Value::kFolder, Value::kOther};
  return absl::StrCat("    ", pattern, ")\n      case $before in\n", BashValues(app),
                      "      esac\n      words='",
                      NamesOf(app, {std::begin(kAll), std::end(kAll)}, " "), more, "'\n      ;;\n");
}

// $command is the first word that is one; behind "--" there is a program of the user's.
constexpr char kBash[] = R"(# Completion of $NAME for bash, written by $NAME itself.
_$NAME() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command= words= i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case ${COMP_WORDS[i]} in
      --)
        if declare -F _command_offset > /dev/null; then _command_offset $((i + 1)); else COMPREPLY=($(compgen -c -f -- "$word")); fi
        return
        ;;
$COMMANDS    esac
  done
  case $command in
$CASES  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o filenames -F _$NAME $NAME
)";

// What may follow that is no flag.
absl::string_view WordsOf(const CLI::App& command) {
  if (command.get_name() == "run") return " --";
  return command.get_name() == "completion" ? " bash zsh" : "";
}

std::string Bash(const CLI::App& app) {
  std::vector<std::string> names;
  std::string cases;
  for (const CLI::App* command : CommandsOf(app)) {
    names.push_back(command->get_name());
    absl::StrAppend(&cases, BashCommand(*command, command->get_name(), WordsOf(*command)));
  }
  const std::string more = names.empty() ? "" : " " + absl::StrJoin(names, " ");
  absl::StrAppend(&cases, BashCommand(app, "''", more));
  const std::string commands = names.empty()
                                   ? ""
                                   : absl::StrCat("      ", absl::StrJoin(names, " | "),
                                                  ") command=${command:-${COMP_WORDS[i]}} ;;\n");
  return absl::StrReplaceAll(
      kBash, {{"$NAME", app.get_name()}, {"$COMMANDS", commands}, {"$CASES", cases}});
}

std::string ZshText(absl::string_view text) {
  return absl::StrReplaceAll(
      text, {{"'", "'\\''"}, {"[", "\\["}, {"]", "\\]"}, {":", "\\:"}, {"\n", " "}});
}

std::string ZshFlag(const CLI::Option& option, const std::string& name) {
  constexpr absl::string_view kActions[] = {"", ":_files", ":_files -/", ": "};
  const Value value = ValueOf(option);
  const std::string argument =
      value == Value::kNone
          ? ""
          : absl::StrCat(":", ZshText(option.get_type_name()), kActions[static_cast<int>(value)]);
  return absl::StrCat("'--", name, "[", ZshText(option.get_description()), "]", argument, "'");
}

std::string ZshFlags(const CLI::App& app) {
  std::string flags;
  for (const CLI::Option* option : FlagsOf(app)) {
    for (const std::string& name : option->get_lnames()) {
      absl::StrAppend(&flags, " \\\n        ", ZshFlag(*option, name));
    }
  }
  return flags;
}

std::string Zsh(const CLI::App& app) {
  const std::string& name = app.get_name();
  std::string commands, cases;
  for (const CLI::App* command : CommandsOf(app)) {
    const std::string text = ZshText(command->get_description());
    absl::StrAppend(&commands, "        '", command->get_name(), ":", text, "'\n");
    absl::StrAppend(&cases, "    ", command->get_name(), ")\n      shift words; ((CURRENT--))\n",
                    "      _arguments", ZshFlags(*command),
                    command->get_name() == "run" ? " \\\n        '*::program:_normal'" : "",
                    "\n      ;;\n");
  }
  const std::string describe =
      commands.empty()
          ? ""
          : absl::StrCat("      local -a commands=(\n", commands,
                         "      )\n      ((CURRENT > 2)) || _describe command commands\n");
  return absl::StrCat("#compdef ", name, "\n# Completion of ", name, " for zsh, written by ", name,
                      " itself.\n_", name, "() {\n  case $words[2] in\n", cases, "    *)\n",
                      describe, "      _arguments", ZshFlags(app), "\n      ;;\n  esac\n}\n_", name,
                      " \"$@\"\n");
}

}  // namespace

absl::StatusOr<std::string> CompletionScript(const CLI::App& app, absl::string_view shell) {
  if (shell == "bash") return Bash(app);
  if (shell == "zsh") return Zsh(app);
  return absl::InvalidArgumentError(
      absl::StrCat("there is completion for bash and zsh, not for '", shell, "'"));
}

}  // namespace muster
