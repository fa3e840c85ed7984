#ifndef MUSTER_TESTS_FUZZ_FUZZED_OPTIONS_H_
#define MUSTER_TESTS_FUZZ_FUZZED_OPTIONS_H_

#include "server/core/api/options.h"
#include "tests/fuzz/byte_source.h"

namespace muster::fuzz {

// Returns limits that a short schedule reaches.
core::Limits SmallLimits();

// Chooses the kind of job that the daemon of one schedule serves.
core::Options ChooseOptions(ByteSource* bytes);

}  // namespace muster::fuzz

#endif  // MUSTER_TESTS_FUZZ_FUZZED_OPTIONS_H_
