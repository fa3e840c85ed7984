#ifndef MUSTER_TESTS_BENCH_COMMON_MARKDOWN_TABLE_H_
#define MUSTER_TESTS_BENCH_COMMON_MARKDOWN_TABLE_H_

#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"

namespace muster::testing {

// Prints one line of a table in Markdown.
inline void PrintLine(const std::vector<std::string>& cells) {
  std::printf("| %s |\n", absl::StrJoin(cells, " | ").c_str());
}

// Prints the titles of the columns, and the line that ends them.
inline void PrintHead(const std::vector<std::string>& titles) {
  PrintLine(titles);
  PrintLine(std::vector<std::string>(titles.size(), "---"));
}

}  // namespace muster::testing

#endif  // MUSTER_TESTS_BENCH_COMMON_MARKDOWN_TABLE_H_
