#ifndef MUSTER_TESTS_BENCH_CORE_METER_H_
#define MUSTER_TESTS_BENCH_CORE_METER_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace muster::bench {

// Measures the steps of one phase: bytes that they allocate, and bytes that are still held at the
// end. Under valgrind --tool=callgrind --instr-atstart=no --collect-atstart=no, it also counts
// instructions, in a dump that has the phase's name. Only one phase at a time, in one thread.
class Phase {
 public:
  // Starts to count the bytes that are held.
  explicit Phase(std::string name);
  // Prints "name <tab> calls <tab> bytes allocated <tab> bytes held", of all calls together.
  ~Phase();
  Phase(const Phase&) = delete;
  Phase& operator=(const Phase&) = delete;

  // Runs `step` and counts its costs.
  template <class Step>
  auto Run(Step step) {
    const Counting counting;
    return step();
  }
  // Adds to the number of calls that the costs are divided by.
  void CountCalls(size_t calls) { calls_ += calls; }

 private:
  // Counts costs during its lifetime.
  class Counting {
   public:
    Counting();
    ~Counting();
  };

  const std::string name_;
  size_t calls_ = 0;
  uint64_t allocated_before_ = 0;
  uint64_t held_before_ = 0;
};

}  // namespace muster::bench

#endif  // MUSTER_TESTS_BENCH_CORE_METER_H_
