#ifndef MUSTER_TESTS_FUZZ_PROMISES_TEXT_CHECKS_H_
#define MUSTER_TESTS_FUZZ_PROMISES_TEXT_CHECKS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace muster::fuzz {

// Returns what is wrong with a text that leaves the daemon, or "". People read it on terminals and
// in logs, so it must be one line, without control characters, and not too long.
std::string FindTextProblem(absl::string_view text);

// Checks all texts of a message in the same way. Lease results are the members' own content, so
// only their length counts.
std::string FindMessageTextProblem(const google::protobuf::Message& message);

}  // namespace muster::fuzz

#endif  // MUSTER_TESTS_FUZZ_PROMISES_TEXT_CHECKS_H_
