#ifndef MUSTER_TESTS_SIMULATION_WORLD_RANDOM_H_
#define MUSTER_TESTS_SIMULATION_WORLD_RANDOM_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::simulation {

// A seeded stream of choices (SplitMix64). Each part of a schedule draws from its own stream, named
// by its purpose. So a schedule with one fault less differs as little as possible.
class Random {
 public:
  Random(uint64_t seed, absl::string_view purpose) : state_(seed) {
    for (const char c : purpose) state_ = Next() ^ static_cast<unsigned char>(c);
  }

  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  // Returns a number from 0 to n - 1.
  uint32_t Pick(uint32_t n) { return static_cast<uint32_t>(Next() % n); }
  bool Chance(double probability) { return Fraction() < probability; }
  absl::Duration Between(absl::Duration least, absl::Duration most) {
    return least + Fraction() * (most - least);
  }

 private:
  double Fraction() { return static_cast<double>(Next() >> 11) / static_cast<double>(1ull << 53); }

  uint64_t state_;
};

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_WORLD_RANDOM_H_
