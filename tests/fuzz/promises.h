#ifndef MUSTER_TESTS_FUZZ_PROMISES_H_
#define MUSTER_TESTS_FUZZ_PROMISES_H_

#include <string>

#include "absl/status/status.h"
#include "google/protobuf/message.h"

// What the daemon promises whatever it is sent. Each of these aborts the program, with a message,
// where a promise is broken.
namespace muster::fuzz {

void Check(bool holds, const std::string& promise);
// What an oracle has found wrong, if anything.
void CheckNothing(const std::string& wrong);

// What goes onto the wire can be read there, and its texts are fit for people.
void CheckMessage(const google::protobuf::Message& message);
void CheckError(const absl::Status& error);
void CheckLogLine(const std::string& text);

}  // namespace muster::fuzz

#endif  // MUSTER_TESTS_FUZZ_PROMISES_H_
