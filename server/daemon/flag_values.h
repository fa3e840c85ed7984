#ifndef MUSTER_SERVER_DAEMON_FLAG_VALUES_H_
#define MUSTER_SERVER_DAEMON_FLAG_VALUES_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

// How a flag's value is written, for each type of flag. Parse says what was expected instead;
// Format is its inverse, for --help.
namespace muster::daemon {

absl::Status Parse(const std::string& text, std::string* out);
absl::Status Parse(const std::string& text, uint32_t* out);
// Bytes: a number, or one with KiB, MiB or GiB.
absl::Status Parse(const std::string& text, uint64_t* out);
// Not negative, and finite: "500ms", "2s", "1m30s".
absl::Status Parse(const std::string& text, absl::Duration* out);

std::string Format(const std::string& value);
std::string Format(uint32_t value);
std::string Format(uint64_t bytes);
std::string Format(absl::Duration value);

}  // namespace muster::daemon

#endif  // MUSTER_SERVER_DAEMON_FLAG_VALUES_H_
