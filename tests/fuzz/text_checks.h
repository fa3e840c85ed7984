#ifndef MUSTER_TESTS_FUZZ_TEXT_CHECKS_H_
#define MUSTER_TESTS_FUZZ_TEXT_CHECKS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace muster::fuzz {

// What is wrong with a text that leaves the daemon, in words; empty if nothing is: people read it
// on terminals and in logs, so that it is one line, without control characters, and not too long.
std::string WrongWithText(absl::string_view text);

// The same of all texts of a message. What members publish for each other is theirs (lease
// results): only its length counts.
std::string WrongWithTexts(const google::protobuf::Message& message);

}  // namespace muster::fuzz

#endif  // MUSTER_TESTS_FUZZ_TEXT_CHECKS_H_
