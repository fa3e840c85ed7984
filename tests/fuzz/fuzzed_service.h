#ifndef MUSTER_TESTS_FUZZ_FUZZED_SERVICE_H_
#define MUSTER_TESTS_FUZZ_FUZZED_SERVICE_H_

#include <cstddef>
#include <cstdint>

namespace muster::fuzz {

// Reads a schedule of requests, streams of the store, cancels, closed streams, ticks and restarts
// from a fuzzer's input. Runs it through the daemon's code behind gRPC: the conversion from the
// wire, the core, and the conversion of answers back to the wire. Aborts with a message if the
// daemon breaks a promise:
//   - Each call is answered exactly once. Each stream ends at most once, and has no event after its
//     end.
//   - Answers can be put on the wire. Every error has a text, which fits into gRPC's metadata.
//   - A stream of the store begins with `opened`, and answers each operation that came on it at
//   most
//     once. The SDK's clients, whose requests arrive changed, never crash.
//   - A collective is answered OK only if all ranks of its group are parked in it.
//   - Epoch numbers and tokens grow, and all that were given out can be claimed.
//   - However many groups members name, the daemon knows no more than it may.
//   - Texts are single lines of bounded length. The memory that is kept is bounded.
//   - If the inputs of a core are journaled and replayed, another core has the same effects, byte
//     for byte.
//   - A draining coordinator leaves no call behind.
//   - A tick at a deadline moves the deadline on.
void RunFuzzedSchedule(const uint8_t* data, size_t size);

}  // namespace muster::fuzz

#endif  // MUSTER_TESTS_FUZZ_FUZZED_SERVICE_H_
