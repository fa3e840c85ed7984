// The libFuzzer target for journals: bazel test --config=fuzz //tests/fuzz:journal_fuzzer. An input
// is a Block, or a whole file if it begins like one.

#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "server/journal/records/format.h"
#include "tests/fuzz/fuzzed_journal.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  if (absl::StartsWith(input, muster::journal::kMagic)) {
    muster::fuzz::ReadFuzzedJournal(input);
  } else {
    muster::fuzz::ReadFuzzedBlock(input);
  }
  return 0;
}
