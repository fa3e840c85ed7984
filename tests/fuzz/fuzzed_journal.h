#ifndef MUSTER_TESTS_FUZZ_FUZZED_JOURNAL_H_
#define MUSTER_TESTS_FUZZ_FUZZED_JOURNAL_H_

#include <string>

namespace muster::fuzz {

// Reads a file as a journal, replays it, and tells it as a timeline and a trace. Aborts, with a
// message, where a promise is broken: whatever the file is, that ends, with or without an error
// that says something; texts are single lines; the trace is JSON.
void ReadFuzzedJournal(const std::string& file);

// The same of a file whose frames and checksums are right, and whose one block is `block`.
void ReadFuzzedBlock(const std::string& block);

}  // namespace muster::fuzz

#endif  // MUSTER_TESTS_FUZZ_FUZZED_JOURNAL_H_
