#ifndef MUSTER_TESTS_FUZZ_FUZZED_JOURNAL_H_
#define MUSTER_TESTS_FUZZ_FUZZED_JOURNAL_H_

#include <string>

namespace muster::fuzz {

// Reads a file as a journal, replays it, and writes it as a timeline and a trace. Aborts with a
// message if a promise is broken. Whatever the file contains, reading ends, and an error has a
// text. Texts are single lines, and the trace is JSON.
void ReadFuzzedJournal(const std::string& file);

// Does the same with a file that has valid frames and checksums, and `block` as its only block.
void ReadFuzzedBlock(const std::string& block);

}  // namespace muster::fuzz

#endif  // MUSTER_TESTS_FUZZ_FUZZED_JOURNAL_H_
