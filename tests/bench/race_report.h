#ifndef MUSTER_TESTS_BENCH_RACE_REPORT_H_
#define MUSTER_TESTS_BENCH_RACE_REPORT_H_

#include <map>
#include <string>
#include <vector>

#include "tests/bench/contestants/contestant.h"

namespace muster::testing {

// The measurements of one operation in jobs of one size: for each side, one sample for each round.
// Samples of the same round were measured one after the other.
struct Comparison {
  Shape shape;
  std::string operation;
  std::string unit;   // of the tables
  double micros = 1;  // microseconds in that unit
  std::map<Side, std::vector<Sample>> samples;
};

// Columns of a table. The others are compared with the first.
struct Columns {
  std::string title;  // ends a sentence: "where each rank calls by itself"; may be empty
  std::vector<Side> sides;
};

// Prints tables in Markdown, with medians of the rounds: for each of `all`, a table of the times
// and one of the processor times of each side, with the ratio of the first side to each other one.
void PrintTables(const std::vector<Comparison>& comparisons, const std::vector<Columns>& all);

// Writes all samples as JSON, with the date and what they depend on. Returns false if the file
// cannot be written.
bool WriteJson(const std::vector<Comparison>& comparisons, const std::string& path);

}  // namespace muster::testing

#endif  // MUSTER_TESTS_BENCH_RACE_REPORT_H_
