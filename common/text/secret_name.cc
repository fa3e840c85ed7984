#include "common/text/secret_name.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace muster {
namespace {

constexpr const char* kWords[] = {"KEY", "SECRET",     "PASSWORD",  "PASSWD",        "CREDENTIAL",
                                  "JWT", "PASSPHRASE", "SIGNATURE", "AUTHORIZATION", "COOKIE"};
// Match only as separate parts: inside words such as AUTHOR, BYPASS or SIGNAL they mean nothing.
constexpr const char* kParts[] = {"AUTH", "PASS", "PWD", "SIG"};

bool HasPart(absl::string_view upper) {
  const std::vector<absl::string_view> parts = absl::StrSplit(upper, absl::ByAnyChar("_-."));
  return std::find_first_of(parts.begin(), parts.end(), std::begin(kParts), std::end(kParts)) !=
         parts.end();
}

// Returns whether the name contains TOKEN. Excludes tokenizers, which language-model programs have.
bool HasToken(absl::string_view upper) {
  constexpr absl::string_view kToken = "TOKEN";
  for (size_t at = 0; (at = upper.find(kToken, at)) != absl::string_view::npos;) {
    at += kToken.size();
    if (!absl::StartsWith(upper.substr(at), "IZ")) return true;
  }
  return false;
}

}  // namespace

bool IsSecretName(absl::string_view name) {
  const std::string upper = absl::AsciiStrToUpper(name);
  return absl::StartsWith(upper, "AWS_") || HasPart(upper) || HasToken(upper) ||
         std::any_of(std::begin(kWords), std::end(kWords),
                     [&](const char* word) { return absl::StrContains(upper, word); });
}

}  // namespace muster
