#ifndef MUSTER_TESTS_FUZZ_PROMISES_PROMISES_H_
#define MUSTER_TESTS_FUZZ_PROMISES_PROMISES_H_

#include <string>

#include "absl/status/status.h"
#include "google/protobuf/message.h"

// The promises that the daemon keeps whatever it receives. Each function aborts the program, with a
// message, if a promise is broken.
namespace muster::fuzz {

void Check(bool holds, const std::string& promise);
// Aborts unless `wrong`, the description of an error by an oracle, is empty.
void CheckNoProblem(const std::string& wrong);

// Checks that a message can be sent and parsed, and that its texts are fit for people.
void CheckMessage(const google::protobuf::Message& message);
void CheckError(const absl::Status& error);
void CheckLogLine(const std::string& text);

}  // namespace muster::fuzz

#endif  // MUSTER_TESTS_FUZZ_PROMISES_PROMISES_H_
