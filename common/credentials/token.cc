#include "common/credentials/token.h"

#include <openssl/crypto.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/credentials/random_bytes.h"

namespace muster {
namespace {

constexpr size_t kRandomBytes = 32;
// The length of 128 bits in base64.
constexpr size_t kMinCharacters = 22;
// The length that a header can carry beside everything else.
constexpr size_t kMaxCharacters = 1024;
constexpr char kScheme[] = "Bearer ";
constexpr char kHowToMake[] = "make one with: (umask 077; muster token > FILE)";

// Characters of RFC 6750, section 2.1.
bool IsTokenCharacter(char c) {
  return absl::ascii_isalnum(c) || absl::StrContains("-._~+/=", absl::string_view(&c, 1));
}

absl::Status Unusable(absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(why, "; ", kHowToMake));
}

}  // namespace

std::string NewToken() {
  std::string token;
  absl::WebSafeBase64Escape(RandomBytes(kRandomBytes), &token);
  token.erase(token.find_last_not_of('=') + 1);
  return token;
}

bool TokensEqual(absl::string_view a, absl::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

absl::StatusOr<std::string> ParseToken(absl::string_view contents) {
  const absl::string_view token = absl::StripAsciiWhitespace(contents);
  if (token.empty()) return Unusable("it is empty");
  if (!std::all_of(token.begin(), token.end(), IsTokenCharacter)) {
    return Unusable(
        "it holds white space, a control character or another character that a token cannot have; "
        "allowed are letters, digits and -._~+/=");
  }
  if (token.size() < kMinCharacters) {
    return Unusable(absl::StrCat("its token has ", token.size(),
                                 " characters and could be guessed; expected at least ",
                                 kMinCharacters));
  }
  if (token.size() > kMaxCharacters) {
    return Unusable(absl::StrCat("its token has more than ", kMaxCharacters, " characters"));
  }
  return std::string(token);
}

absl::StatusOr<std::string> ReadTokenFile(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string contents;
  // Reads a little more than a valid file can have, so that a wrong path does not fill the memory.
  for (char c; contents.size() <= 2 * kMaxCharacters && file.get(c);) contents.push_back(c);
  if (!file.is_open() || file.bad() || (contents.empty() && errno != 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot read the token file '", path, "': ", strerror(errno)));
  }
  absl::StatusOr<std::string> token = ParseToken(contents);
  if (token.ok()) return token;
  return absl::InvalidArgumentError(
      absl::StrCat("the token file '", path, "' cannot be used: ", token.status().message()));
}

std::string TokenFileWarning(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0 || (info.st_mode & (S_IROTH | S_IWOTH)) == 0) return "";
  return absl::StrCat("every user of this machine can ",
                      (info.st_mode & S_IWOTH) != 0 ? "change" : "read", " the token file '", path,
                      "', and so join the job; run: chmod o= ", path);
}

std::string FormatAuthorization(absl::string_view token) { return absl::StrCat(kScheme, token); }

absl::string_view ParseAuthorization(absl::string_view authorization) {
  const absl::string_view scheme = authorization.substr(0, strlen(kScheme));
  if (!absl::EqualsIgnoreCase(scheme, kScheme)) return "";
  return authorization.substr(scheme.size());
}

}  // namespace muster
