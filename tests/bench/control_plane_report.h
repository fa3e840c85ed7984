#ifndef MUSTER_TESTS_BENCH_CONTROL_PLANE_REPORT_H_
#define MUSTER_TESTS_BENCH_CONTROL_PLANE_REPORT_H_

#include <map>
#include <string>
#include <vector>

#include "tests/bench/contestant.h"

namespace muster::testing {

// What was measured of one operation in jobs of one size: for each side that has run, a sample of
// each round. The rounds of one number were made one after the other.
struct Comparison {
  int ranks = 0;
  std::string operation;
  std::string unit;   // of the tables
  double micros = 1;  // of that unit
  std::map<Side, std::vector<Sample>> samples;
};

// Tables in Markdown: times and processor times of every side, and Muster's ratio to each other, as
// medians of the rounds.
void PrintTables(const std::vector<Comparison>& comparisons);

// All samples, as JSON. False if the file cannot be written.
bool WriteJson(const std::vector<Comparison>& comparisons, const std::string& path);

}  // namespace muster::testing

#endif  // MUSTER_TESTS_BENCH_CONTROL_PLANE_REPORT_H_
