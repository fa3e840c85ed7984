#ifndef MUSTER_TESTS_CLIENT_ERRORS_FIRST_ERRORS_H_
#define MUSTER_TESTS_CLIENT_ERRORS_FIRST_ERRORS_H_

#include <ostream>
#include <string>
#include <vector>

// The table of the errors that users meet first, word for word. Each text says what happened, to
// whom, and what to do next. The texts come from the real code: helpers make the mistakes in the
// test's process (command_errors.h, join_errors.h, call_errors.h), and a few run `muster`.
//
// A new row needs a situation, a function that makes the mistake, and the text:
//
//   {"a program that does not exist",
//    [] { return MusterSays({"run", "trian"}); },
//    "muster: cannot execute trian: not found in PATH; give its path, or ..."},
namespace muster::testing {

struct FirstError {
  std::string situation;
  std::string (*how)();
  std::string text;  // with the placeholders of plain_text.h
};

inline void PrintTo(const FirstError& row, std::ostream* out) { *out << row.situation; }

// command_rows.cc: flags of `muster` and `musterd`, and variables.
std::vector<FirstError> ErrorsOfMuster();
std::vector<FirstError> ErrorsOfMusterd();
std::vector<FirstError> ErrorsOfVariables();

// job_rows.cc: processes that join, and the calls of a job.
std::vector<FirstError> ErrorsOfJoin();
std::vector<FirstError> ErrorsOfCollectives();
// Groups, leases and communicators.
std::vector<FirstError> ErrorsOfObjects();

}  // namespace muster::testing

#endif  // MUSTER_TESTS_CLIENT_ERRORS_FIRST_ERRORS_H_
