// Runs MPI worlds by random inputs, without a fuzzer, so that every build can. An input is what
// fuzzed_mpi.cc reads: the world, then its steps. If a promise is broken, the last line before it
// names the seed; MUSTER_TEST_SEED runs that one alone.

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "gtest/gtest.h"
#include "tests/fuzz/mpi/fuzzed_mpi.h"

namespace muster::fuzz {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr unsigned kInputs = 1000;
#else
constexpr unsigned kInputs = 5000;
#endif

unsigned current_seed = 0;

// The promises end the program by abort().
void NameSeed(int /*signal*/) {
  std::fprintf(stderr, "seed %u\n", current_seed);
  std::_Exit(1);
}

using Run = void (*)(const uint8_t* data, size_t size);

void RunSeed(Run run, unsigned seed) {
  current_seed = seed;
  std::mt19937 random(seed);
  std::string input(1 + random() % 600, '\0');
  for (char& byte : input) byte = static_cast<char>(random());
  run(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

void RunSeeds(Run run) {
  std::signal(SIGABRT, NameSeed);
#ifndef __SANITIZE_ADDRESS__
  std::signal(SIGSEGV, NameSeed);
#endif
  if (const char* seed = std::getenv("MUSTER_TEST_SEED")) return RunSeed(run, std::atoi(seed));
  for (unsigned seed = 1; seed <= kInputs; ++seed) RunSeed(run, seed);
}

TEST(MpiFuzzTest, WorldsOfPmi1KeepTheirPromises) { RunSeeds(RunFuzzedPmi); }

TEST(MpiFuzzTest, WorldsOfPmixKeepTheirPromises) { RunSeeds(RunFuzzedPmix); }

}  // namespace
}  // namespace muster::fuzz
