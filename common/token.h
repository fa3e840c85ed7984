#ifndef MUSTER_COMMON_TOKEN_H_
#define MUSTER_COMMON_TOKEN_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

// A job's token: what a caller of its coordinator must know.
namespace muster {

// A new one: 256 random bits, in characters that need no quoting anywhere.
std::string NewToken();

// Compares in a time that tells nothing of either text but its length.
bool SameToken(absl::string_view a, absl::string_view b);

// The token that a file of these contents holds; white space around it does not count.
// INVALID_ARGUMENT says what is wrong with it and what to do, and shows nothing of it.
absl::StatusOr<std::string> ParseToken(absl::string_view contents);

// The same for a file. Errors name it.
absl::StatusOr<std::string> ReadTokenFile(const std::string& path);

// Why others could learn the token from this file, and what to do; empty if they cannot.
std::string TokenFileWarning(const std::string& path);

// The value of the header "authorization", and back: empty if it holds no token.
inline constexpr char kAuthorization[] = "authorization";
std::string BearerOf(absl::string_view token);
absl::string_view TokenOf(absl::string_view authorization);

}  // namespace muster

#endif  // MUSTER_COMMON_TOKEN_H_
