#ifndef MUSTER_TESTS_BENCH_RACE_H_
#define MUSTER_TESTS_BENCH_RACE_H_

#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "tests/bench/contestants/contestant.h"
#include "tests/bench/race_report.h"

namespace muster::testing {

// A benchmark in which jobs of several sides take turns: control_plane.cc, nodes.cc and store.cc.
//
//   Race race{"store", {Side::kStore, Side::kTcpStore}, {{"add", "add", 0}}, {{"", {...}}}};
//   return RunRace(&race, "What it measures.", argc, argv);
struct Race {
  std::string name;
  std::vector<Side> sides;
  std::vector<Operation> operations;
  std::vector<Columns> tables;
  bool network = false;  // nodes have a simulated network between them, and ranks only there

  // The flags.
  std::vector<Shape> shapes;
  int latency_us = 100;
  int joins = 3;
  int rounds = 5;
  int round_ms = 200;
  bool peers = true;
  bool random_addresses = false;
  std::string json;
};

// Runs the race as the command line says, prints its tables, and returns the exit status. May
// restart the program (RestartWithFixedAddresses), so call it first in main().
int RunRace(Race* race, const std::string& description, int argc, char** argv);

}  // namespace muster::testing

#endif  // MUSTER_TESTS_BENCH_RACE_H_
