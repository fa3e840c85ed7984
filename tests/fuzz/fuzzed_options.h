#ifndef MUSTER_TESTS_FUZZ_FUZZED_OPTIONS_H_
#define MUSTER_TESTS_FUZZ_FUZZED_OPTIONS_H_

#include "server/core/api/options.h"
#include "tests/fuzz/byte_source.h"

namespace muster::fuzz {

// Returns limits that a short schedule reaches.
core::Limits SmallLimits();

// The kind of job that the daemon of one schedule serves.
struct FuzzedJob {
  core::Options options;
  // The members offer to complete collectives on their node.
  bool commits_on_node = false;
  // All members are on one node. Otherwise they are on two.
  bool on_one_node = false;
};

FuzzedJob ChooseJob(ByteSource* bytes);

}  // namespace muster::fuzz

#endif  // MUSTER_TESTS_FUZZ_FUZZED_OPTIONS_H_
