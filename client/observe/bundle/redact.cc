#include "client/observe/bundle/redact.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/text/secret_name.h"

namespace muster::observe {
namespace {

using absl::string_view;

constexpr const char* kShownPrefixes[] = {"NCCL_",  "CUDA_",  "MUSTER_", "OMP_",    "MASTER_",
                                          "TORCH_", "GLOO_",  "UCX_",    "FI_",     "NVIDIA_",
                                          "LD_",    "SLURM_", "MALLOC_", "PYTORCH_"};
constexpr const char* kShownNames[] = {"RANK",       "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE",
                                       "GROUP_RANK", "HOSTNAME",   "TMPDIR",     "TZ"};
// Schemes that precede a secret in an HTTP header.
constexpr const char* kSchemes[] = {"bearer", "basic", "digest", "negotiate", "token"};
constexpr char kBlanks[] = " \t";
constexpr char kSpaces[] = " \t\r\n\f\v";
constexpr char kEndOfAddress[] = " \t\r\n\f\v/?#\"'";
constexpr char kEndOfWord[] = " \t\r\n\f\v\"'";
constexpr char kEndOfValue[] = " \t\r\n\f\v\"',;";
constexpr char kEndOfHeader[] = "\r\n\"'";

bool IsShown(string_view name) {
  return std::any_of(std::begin(kShownPrefixes), std::end(kShownPrefixes),
                     [&](const char* prefix) { return absl::StartsWith(name, prefix); }) ||
         std::find(std::begin(kShownNames), std::end(kShownNames), name) != std::end(kShownNames);
}

bool IsNameCharacter(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '-'; }

bool IsQuote(char c) { return c == '"' || c == '\''; }

bool IsScheme(string_view word) {
  return std::any_of(std::begin(kSchemes), std::end(kSchemes),
                     [&](const char* scheme) { return absl::EqualsIgnoreCase(word, scheme); });
}

bool IsUserAndPassword(string_view base64) {
  std::string plain;
  return base64.size() >= 4 && absl::Base64Unescape(base64, &plain) &&
         absl::StrContains(plain, ":") &&
         std::all_of(plain.begin(), plain.end(), [](char c) { return absl::ascii_isprint(c); });
}

// Copies a text without its secrets, in one pass from begin to end, so that long words take no more
// than linear time.
class Redactor {
 public:
  explicit Redactor(string_view text) : rest_(text) {}

  std::string Redact() {
    while (!rest_.empty()) {
      if (IsNameCharacter(rest_[0])) {
        CopyWord();
      } else {
        CopyAddressOrCharacter();
      }
    }
    return std::move(redacted_);
  }

 private:
  void Keep(size_t size) {
    absl::StrAppend(&redacted_, rest_.substr(0, size));
    rest_.remove_prefix(size);
  }
  void KeepAll(const char* characters) { Keep(SizeOfAll(characters)); }
  void LeaveOut(size_t size) {
    if (size > 0) absl::StrAppend(&redacted_, kLeftOut);
    rest_.remove_prefix(size);
  }
  // SizeOfAll() returns the offset of the first character in the rest that is not in `characters`,
  // from `begin` on. SizeUntil() returns the offset of the first one that is.
  size_t SizeOfAll(const char* characters, size_t begin = 0) const {
    return std::min(rest_.find_first_not_of(characters, begin), rest_.size());
  }
  size_t SizeUntil(const char* characters) const {
    return std::min(rest_.find_first_of(characters), rest_.size());
  }
  size_t SizeOfWord() const {
    return std::find_if_not(rest_.begin(), rest_.end(), IsNameCharacter) - rest_.begin();
  }
  bool AtBlank() const { return SizeOfAll(kBlanks) > 0; }

  void CopyAddressOrCharacter();
  void CopyWord();
  size_t SizeOfSeparator() const;
  void DropValue(bool header);
  void DropQuoted(char quote, bool escaped);
  void KeepScheme();

  string_view rest_;
  std::string redacted_;
};

// Handles "://user:password@host".
void Redactor::CopyAddressOrCharacter() {
  if (!absl::StartsWith(rest_, "://")) return Keep(1);
  Keep(3);
  const size_t at = rest_.substr(0, SizeUntil(kEndOfAddress)).rfind('@');
  if (at != string_view::npos) LeaveOut(at);
}

void Redactor::CopyWord() {
  const string_view word = rest_.substr(0, SizeOfWord());
  Keep(word.size());
  const bool bearer = absl::EqualsIgnoreCase(word, "bearer");
  if ((bearer || absl::EqualsIgnoreCase(word, "basic")) && AtBlank()) {
    KeepAll(kBlanks);
    const bool secret = bearer || IsUserAndPassword(rest_.substr(0, SizeUntil(kEndOfValue)));
    return LeaveOut(secret ? SizeUntil(kEndOfWord) : 0);
  }
  if (!IsSecretName(word)) return;
  if (const size_t size = SizeOfSeparator(); size > 0) {
    Keep(size);
    const std::string lower = absl::AsciiStrToLower(word);
    return DropValue(absl::StrContains(lower, "authorization") ||
                     absl::StrContains(lower, "cookie"));
  }
  // Handles "--token x".
  if (!absl::StartsWith(word, "--") || !AtBlank()) return;
  KeepAll(kBlanks);
  if (!absl::StartsWith(rest_, "-")) LeaveOut(SizeUntil(kEndOfValue));
}

// Returns the size of what separates a name and its value, such as =, ": or =>. Returns 0 if there
// is no separator.
size_t Redactor::SizeOfSeparator() const {
  const size_t begin = SizeOfAll(kSpaces, SizeOfAll("\\\"'"));
  const size_t end = SizeOfAll("=:>", begin);
  return begin == end || rest_[begin] == '>' ? 0 : SizeOfAll(kSpaces, end);
}

// Drops a value. With `header`, the value extends to the end of the line.
void Redactor::DropValue(bool header) {
  if (rest_.size() > 1 && absl::StrContains("bBfFrRuU", rest_[0]) && IsQuote(rest_[1])) Keep(1);
  const size_t escapes = SizeOfAll("\\");
  Keep(escapes);
  if (!rest_.empty() && IsQuote(rest_[0])) {
    const char quote = rest_[0];
    Keep(1);
    return DropQuoted(quote, escapes > 0);
  }
  KeepScheme();
  LeaveOut(SizeUntil(header ? kEndOfHeader : kEndOfValue));
}

// Drops a quoted value. With `escaped`, the quotes have backslashes.
void Redactor::DropQuoted(char quote, bool escaped) {
  KeepScheme();
  size_t end = 0;
  while (end < rest_.size() && rest_[end] != quote && rest_[end] != '\n') {
    end += !escaped && rest_[end] == '\\' ? 2 : 1;
  }
  end = std::min(end, rest_.size());
  if (escaped && end > 0 && rest_[end - 1] == '\\') --end;
  LeaveOut(end);
}

void Redactor::KeepScheme() {
  const size_t size = SizeOfWord();
  const size_t end = SizeOfAll(kBlanks, size);
  if (end > size && IsScheme(rest_.substr(0, size))) Keep(end);
}

// Returns "--name" of "--name", and the name of "--name=value" and "NAME=value". Returns "" for
// other texts, such as a shell command.
string_view NameIn(string_view argument) {
  const string_view name = argument.substr(0, argument.find('='));
  const bool is_name =
      std::all_of(name.begin(), name.end(), [](char c) { return IsNameCharacter(c) || c == '.'; });
  return is_name ? name : "";
}

}  // namespace

std::vector<std::string> Fingerprint(const std::vector<std::string>& environment) {
  std::vector<std::string> redacted;
  for (const std::string& variable : environment) {
    const std::string name = variable.substr(0, variable.find('='));
    if (!IsShown(name)) continue;
    redacted.push_back(IsSecretName(name) ? absl::StrCat(name, "=", kLeftOut)
                                          : RedactText(variable));
  }
  std::sort(redacted.begin(), redacted.end());
  return redacted;
}

std::vector<std::string> RedactArguments(const std::vector<std::string>& arguments) {
  std::vector<std::string> redacted;
  bool value_follows = false;
  for (const std::string& argument : arguments) {
    const bool is_value = value_follows && !absl::StartsWith(argument, "-");
    const size_t equals = argument.find('=');
    const bool secret = IsSecretName(NameIn(argument));
    value_follows = secret && equals == std::string::npos && absl::StartsWith(argument, "-");
    if (is_value) {
      redacted.push_back(kLeftOut);
    } else if (secret && equals != std::string::npos) {
      redacted.push_back(absl::StrCat(argument.substr(0, equals + 1), kLeftOut));
    } else {
      redacted.push_back(RedactText(argument));
    }
  }
  return redacted;
}

std::string RedactText(string_view text) { return Redactor(text).Redact(); }

}  // namespace muster::observe
