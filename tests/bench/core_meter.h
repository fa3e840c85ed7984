#ifndef MUSTER_TESTS_BENCH_CORE_METER_H_
#define MUSTER_TESTS_BENCH_CORE_METER_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace muster::bench {

// What the steps of one phase cost: bytes that they allocate, bytes that are still held at its end,
// and, under valgrind --tool=callgrind --instr-atstart=no --collect-atstart=no, instructions, in a
// dump that has the phase's name. Only one phase at a time, in one thread.
class Phase {
 public:
  // Starts to watch what is held.
  explicit Phase(std::string name);
  // Prints "name <tab> calls <tab> bytes allocated <tab> bytes held", of all calls together.
  ~Phase();
  Phase(const Phase&) = delete;
  Phase& operator=(const Phase&) = delete;

  // Costs count while `step` runs.
  template <class Step>
  auto Run(Step step) {
    const Counting counting;
    return step();
  }
  // What the costs are divided by.
  void CountCalls(size_t calls) { calls_ += calls; }

 private:
  // While it lives, costs count.
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
