#include "tests/fuzz/promises/promises.h"

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "absl/strings/str_cat.h"
#include "tests/fuzz/promises/text_checks.h"

namespace muster::fuzz {
namespace {

// gRPC refuses to send more than 8 KiB of metadata, including the status message.
constexpr size_t kMostMessageBytes = 7 * 1024;

[[noreturn]] void Broken(const std::string& promise) {
  std::fprintf(stderr, "broken promise: %.1000s\n", promise.c_str());
  std::abort();
}

}  // namespace

void Check(bool holds, const std::string& promise) {
  if (!holds) Broken(promise);
}

void CheckNoProblem(const std::string& wrong) {
  if (!wrong.empty()) Broken(wrong);
}

void CheckMessage(const google::protobuf::Message& message) {
  const std::unique_ptr<google::protobuf::Message> read(message.New());
  Check(read->ParseFromString(message.SerializeAsString()),
        absl::StrCat(message.GetTypeName(), " can be parsed"));
  CheckNoProblem(FindMessageTextProblem(message));
}

void CheckError(const absl::Status& error) {
  Check(!error.message().empty(), "every error says something");
  Check(error.message().size() <= kMostMessageBytes,
        absl::StrCat("an error fits into gRPC's metadata; this has ", error.message().size(),
                     " bytes: ", error.message()));
  CheckNoProblem(FindTextProblem(error.message()));
}

void CheckLogLine(const std::string& text) { CheckNoProblem(FindTextProblem(text)); }

}  // namespace muster::fuzz
