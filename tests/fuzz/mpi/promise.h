#ifndef MUSTER_TESTS_FUZZ_MPI_PROMISE_H_
#define MUSTER_TESTS_FUZZ_MPI_PROMISE_H_

#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/text/utf8.h"

namespace muster::fuzz {

// Aborts the program with a message if a promise is broken.
inline void Require(bool holds, absl::string_view promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", std::string(promise).c_str());
  std::abort();
}

// Requires that a text for the user is one line without control characters, and not too long.
inline void RequireReadable(absl::string_view text) {
  constexpr size_t kMostBytes = 8192;
  Require(!text.empty() && text.size() <= kMostBytes &&
              FindUnprintable(text) == absl::string_view::npos,
          absl::StrCat("a text for the user is one printable line: ", ReplaceUnprintable(text)));
}

}  // namespace muster::fuzz

#endif  // MUSTER_TESTS_FUZZ_MPI_PROMISE_H_
