#ifndef MUSTER_TESTS_BENCH_COMMON_ADDRESS_LAYOUT_H_
#define MUSTER_TESTS_BENCH_COMMON_ADDRESS_LAYOUT_H_

namespace muster::testing {

// Restarts this program with its address space at fixed places, unless it has that already. Every
// process that it starts from then on inherits this. `argv` is main's, so call this before anything
// has been done.
//
// Linux gives each program that it starts a random layout, but a fork has its parent's. So a side
// of a race whose ranks are forks has an advantage over one whose ranks are programs of their own:
// the processor predicts branches by their addresses, and 32 ranks on two cores with one layout
// share what it has learned. With fixed layouts, no side has that advantage.
//
// Returns if the program runs with a fixed layout, or cannot: a container may forbid it. Ask
// HasFixedAddresses().
void RestartWithFixedAddresses(char** argv);

// Returns whether this program, and those that it starts, have fixed layouts.
bool HasFixedAddresses();

}  // namespace muster::testing

#endif  // MUSTER_TESTS_BENCH_COMMON_ADDRESS_LAYOUT_H_
