#include "client/launcher/pmi/wire.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace muster::launcher::pmi {
namespace {

// Returns the length of the first word of `text`: up to the first space that has no backslash.
size_t WordLength(absl::string_view text) {
  size_t length = 0;
  while (length < text.size() && text[length] != ' ') length += text[length] == '\\' ? 2 : 1;
  return std::min(length, text.size());
}

}  // namespace

const std::string* Command::Find(const std::string& key) const {
  const auto found = arguments.find(key);
  return found == arguments.end() ? nullptr : &found->second;
}

std::optional<int> Command::Number(const std::string& key) const {
  const std::string* const text = Find(key);
  int number = 0;
  if (text == nullptr || !absl::SimpleAtoi(*text, &number)) return std::nullopt;
  return number;
}

std::optional<Command> ParseCommand(absl::string_view line) {
  if (line.find('\0') != absl::string_view::npos) return std::nullopt;
  Command command;
  while (!line.empty()) {
    const absl::string_view word = line.substr(0, WordLength(line));
    line.remove_prefix(std::min(word.size() + 1, line.size()));
    if (word.empty()) continue;  // one of several spaces
    const size_t equals = std::min(word.find('='), word.size());
    const absl::string_view value = word.substr(std::min(equals + 1, word.size()));
    if (equals == 0) return std::nullopt;
    if (!command.name.empty()) {
      command.arguments[std::string(word.substr(0, equals))] = std::string(value);
    } else if (word.substr(0, equals) == "cmd" && !value.empty()) {
      command.name = std::string(value);
    } else {
      return std::nullopt;
    }
  }
  if (command.name.empty()) return std::nullopt;
  return command;
}

std::string Unescape(absl::string_view value) {
  std::string text;
  for (size_t i = 0; i < value.size(); ++i) {
    if (value[i] == '\\' && i + 1 < value.size()) ++i;
    text.push_back(value[i]);
  }
  return text;
}

std::string SerializeValues(const Values& values) {
  std::string bytes;
  for (const auto& [key, value] : values) absl::StrAppend(&bytes, key, "\n", value, "\n");
  return bytes;
}

void ParseValues(absl::string_view bytes, Values* values) {
  const std::vector<absl::string_view> lines = absl::StrSplit(bytes, '\n');
  for (size_t i = 0; i + 1 < lines.size(); i += 2) {
    (*values)[std::string(lines[i])] = std::string(lines[i + 1]);
  }
}

std::vector<std::string> LineReader::Add(absl::string_view bytes) {
  std::vector<std::string> lines;
  while (!overflowed_ && !bytes.empty()) {
    const size_t length = std::min(bytes.find('\n'), bytes.size());
    overflowed_ = rest_.size() + length > kMaxLine;
    if (overflowed_) break;
    rest_.append(bytes.data(), length);
    if (length < bytes.size()) lines.push_back(std::exchange(rest_, ""));
    bytes.remove_prefix(std::min(length + 1, bytes.size()));
  }
  return lines;
}

}  // namespace muster::launcher::pmi
