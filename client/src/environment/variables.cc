#include "client/src/environment/variables.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace muster::internal {
namespace {

absl::Status Malformed(absl::string_view variable, absl::string_view value,
                       absl::string_view expected) {
  if (value.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(variable, " is set but empty; expected ", expected, ", or unset it"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(variable, " is '", absl::CEscape(value), "'; expected ", expected));
}

}  // namespace

Variables ProcessVariables() {
  Variables variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const absl::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals == absl::string_view::npos) continue;
    // If a name is there twice, the first one counts, as in getenv().
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

const std::string* VariableReader::Find(const std::string& variable) const {
  const auto found = variables_.find(variable);
  return found == variables_.end() ? nullptr : &found->second;
}

void VariableReader::Read(const std::string& variable, absl::string_view expected,
                          std::string* out) {
  const std::string* const value = Find(variable);
  if (value == nullptr) return;
  if (value->empty()) return status_.Update(Malformed(variable, *value, expected));
  *out = *value;
}

void VariableReader::Read(const std::string& variable, int least, absl::string_view expected,
                          std::optional<int>* out) {
  const std::string* const value = Find(variable);
  if (value == nullptr) return;
  int number = 0;
  const bool digits = std::all_of(value->begin(), value->end(), absl::ascii_isdigit);
  if (!digits || !absl::SimpleAtoi(*value, &number) || number < least) {
    return status_.Update(Malformed(variable, *value, expected));
  }
  *out = number;
}

void VariableReader::Read(const std::string& variable, bool* out) {
  const std::string* const value = Find(variable);
  if (value == nullptr) return;
  if (*value != "0" && *value != "1") return status_.Update(Malformed(variable, *value, "0 or 1"));
  *out = *value == "1";
}

void VariableReader::Read(const std::string& variable, absl::Duration* out) {
  const std::string* const value = Find(variable);
  if (value == nullptr) return;
  absl::Duration duration;
  if (!absl::ParseDuration(*value, &duration) || duration <= absl::ZeroDuration() ||
      duration == absl::InfiniteDuration()) {
    return status_.Update(
        Malformed(variable, *value, "a positive, finite duration such as 90s or 30m"));
  }
  *out = duration;
}

}  // namespace muster::internal
