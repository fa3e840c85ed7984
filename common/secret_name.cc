#include "common/secret_name.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace muster {
namespace {

constexpr const char* kWords[] = {"TOKEN",      "KEY", "SECRET",     "PASSWORD",     "PASSWD",
                                  "CREDENTIAL", "JWT", "PASSPHRASE", "AUTHORIZATION"};

// As a part of its own: in other words, as AUTHOR, it says nothing.
bool HasAuth(absl::string_view upper) {
  const std::vector<absl::string_view> parts = absl::StrSplit(upper, absl::ByAnyChar("_-."));
  return std::find(parts.begin(), parts.end(), "AUTH") != parts.end();
}

}  // namespace

bool IsSecretName(absl::string_view name) {
  const std::string upper = absl::AsciiStrToUpper(name);
  return absl::StartsWith(upper, "AWS_") || HasAuth(upper) ||
         std::any_of(std::begin(kWords), std::end(kWords),
                     [&](const char* word) { return absl::StrContains(upper, word); });
}

}  // namespace muster
