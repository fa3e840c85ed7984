#ifndef MUSTER_TESTS_EXAMPLES_DIGITS_RUN_DIGITS_H_
#define MUSTER_TESTS_EXAMPLES_DIGITS_RUN_DIGITS_H_

#include <string>
#include <vector>

#include "tests/util/process.h"

namespace digits {

// The program and its data set, as the test's BUILD rule lays them out.
std::string ProgramPath();
std::string DataPath();

// What the program shows of a run that went well.
struct Curve {
  std::vector<double> losses;  // one per epoch, from the file of --json
  std::vector<double> accuracies;
  std::string final_line;  // "final loss=L accuracy=A"
  double final_loss = 0;
  double final_accuracy = 0;
};

// How a run ended, and what it has written to standard output and error.
struct Ended {
  muster::testing::Exit exit;
  std::string output;
};

// The program and these flags, without a launcher.
std::vector<std::string> CommandAlone(const std::vector<std::string>& flags);

// Runs the program alone. This and RunForCurve() use the shipped data unless told otherwise.
Ended RunAlone(const std::vector<std::string>& flags);

// Runs `command` (the program, or a launcher and the program), which must succeed, with --json
// added, and returns the curve.
Curve RunForCurve(std::vector<std::string> command);

// Expects every loss of `curve`, and the final one, to be that of `expected` within 1e-4, relative.
void ExpectSameLosses(const Curve& curve, const Curve& expected);

// The lines of `output` that contain `text`.
std::vector<std::string> LinesWith(const std::string& text, const std::string& output);

}  // namespace digits

#endif  // MUSTER_TESTS_EXAMPLES_DIGITS_RUN_DIGITS_H_
