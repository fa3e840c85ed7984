#ifndef MUSTER_TESTS_FUZZ_FUZZED_SERVICE_H_
#define MUSTER_TESTS_FUZZ_FUZZED_SERVICE_H_

#include <cstddef>
#include <cstdint>

namespace muster::fuzz {

// Reads a schedule of requests, cancels, closed streams, ticks and restarts from a fuzzer's input,
// and runs it through what a request meets in the daemon behind gRPC: the conversion from the wire,
// the core, and the conversion of its answers back to the wire. Aborts with a message where the
// daemon would break a promise:
//   - each call is answered exactly once, each stream ended at most once and told nothing after it;
//   - what is answered can be put on the wire, and every error says something, within what gRPC's
//     metadata can carry;
//   - a collective is answered OK only when all ranks of its group are parked in it;
//   - epoch numbers and tokens grow, and what was given out may be claimed;
//   - texts are single lines of bounded length, and memory that is kept is bounded;
//   - what goes into a core, journaled and replayed, comes to the same in another one, byte for
//   byte;
//   - a coordinator that drains leaves no call behind;
//   - every deadline comes to an end: a tick at it moves it on.
void RunFuzzedSchedule(const uint8_t* data, size_t size);

}  // namespace muster::fuzz

#endif  // MUSTER_TESTS_FUZZ_FUZZED_SERVICE_H_
