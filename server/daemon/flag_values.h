#ifndef MUSTER_SERVER_DAEMON_FLAG_VALUES_H_
#define MUSTER_SERVER_DAEMON_FLAG_VALUES_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

// Texts of flag values, for each type of flag. Parse() reads one; its error says what was expected.
// Format() is the inverse, for --help.
namespace muster::daemon {

absl::Status Parse(const std::string& text, std::string* out);
absl::Status Parse(const std::string& text, uint32_t* out);
// Reads a number of bytes: "1048576", or a number with KiB, MiB or GiB.
absl::Status Parse(const std::string& text, uint64_t* out);
// Reads a duration that is finite and not negative: "500ms", "2s", "1m30s".
absl::Status Parse(const std::string& text, absl::Duration* out);

std::string Format(const std::string& value);
std::string Format(uint32_t value);
std::string Format(uint64_t bytes);
std::string Format(absl::Duration value);

}  // namespace muster::daemon

#endif  // MUSTER_SERVER_DAEMON_FLAG_VALUES_H_
