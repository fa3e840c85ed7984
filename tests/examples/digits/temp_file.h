#ifndef MUSTER_TESTS_EXAMPLES_DIGITS_TEMP_FILE_H_
#define MUSTER_TESTS_EXAMPLES_DIGITS_TEMP_FILE_H_

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tests/util/process/process.h"

namespace digits {

// Writes `contents` to a file of this name in a new directory, and returns its path.
inline std::string TempFile(absl::string_view name, absl::string_view contents) {
  std::string path = absl::StrCat(muster::testing::MakeTempDir(), "/", name);
  std::ofstream(path, std::ios::binary) << contents;
  return path;
}

// Returns a well-formed line: 64 equal pixels and a label.
inline std::string Line(int pixel, int label) {
  std::string line;
  for (int i = 0; i < 64; ++i) absl::StrAppend(&line, pixel, ",");
  return absl::StrCat(line, label, "\n");
}

}  // namespace digits

#endif  // MUSTER_TESTS_EXAMPLES_DIGITS_TEMP_FILE_H_
