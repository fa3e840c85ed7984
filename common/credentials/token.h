#ifndef MUSTER_COMMON_CREDENTIALS_TOKEN_H_
#define MUSTER_COMMON_CREDENTIALS_TOKEN_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

// The token of a job, which a caller of its coordinator must know.
namespace muster {

// Returns a new token: 256 random bits, in characters that need no quoting anywhere.
std::string NewToken();

// Compares in a time that reveals nothing about either text except its length.
bool TokensEqual(absl::string_view a, absl::string_view b);

// Returns the token in the contents of a file, without white space around it. INVALID_ARGUMENT says
// what is wrong and what to do, and never shows the token.
absl::StatusOr<std::string> ParseToken(absl::string_view contents);

// As above, for a file. Errors name it.
absl::StatusOr<std::string> ReadTokenFile(const std::string& path);

// Returns why other users could learn the token from this file, and what to do, or an empty text if
// they cannot.
std::string TokenFileWarning(const std::string& path);

// Convert a token to the value of the header "authorization", and back. ParseAuthorization()
// returns an empty text if the header has no token.
inline constexpr char kAuthorization[] = "authorization";
std::string FormatAuthorization(absl::string_view token);
absl::string_view ParseAuthorization(absl::string_view authorization);

}  // namespace muster

#endif  // MUSTER_COMMON_CREDENTIALS_TOKEN_H_
