#ifndef MUSTER_TESTS_CLIENT_ERRORS_PLAIN_TEXT_H_
#define MUSTER_TESTS_CLIENT_ERRORS_PLAIN_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace muster::testing {

// Returns the text with placeholders for what differs between machines and runs: "pid PID",
// "127.0.0.1:PORT", "host HOST", "token TOKEN", "DIR" for the test's folders, "TIME" for moments
// and ages, "FILE:N" for call sites, and "GRPC" for gRPC's own text.
//
//   PlainText("rank 1 (node 'n1', pid 4711) was lost at 20:15:00.123Z: killed by signal 9")
//   == "rank 1 (node 'n1', pid PID) was lost at TIME: killed by signal 9"
std::string PlainText(absl::string_view text);

}  // namespace muster::testing

#endif  // MUSTER_TESTS_CLIENT_ERRORS_PLAIN_TEXT_H_
