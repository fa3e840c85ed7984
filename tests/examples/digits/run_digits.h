#ifndef MUSTER_TESTS_EXAMPLES_DIGITS_RUN_DIGITS_H_
#define MUSTER_TESTS_EXAMPLES_DIGITS_RUN_DIGITS_H_

#include <string>
#include <vector>

#include "tests/util/process/process.h"

namespace digits {

// Return the paths of the program and of its data set.
std::string ProgramPath();
std::string DataPath();

// The results that the program prints in a successful run.
struct Curve {
  std::vector<double> losses;  // one per epoch, from the file of --json
  std::vector<double> accuracies;
  std::string final_line;  // "final loss=L accuracy=A"
  double final_loss = 0;
  double final_accuracy = 0;
};

// The end of a run, with its standard output and error.
struct Ended {
  muster::testing::Exit exit;
  std::string output;
};

// Returns the command of the program with these flags, without a launcher.
std::vector<std::string> CommandAlone(const std::vector<std::string>& flags);

// Runs the program without a launcher. Like RunForCurve(), uses the shipped data unless the flags
// name another file.
Ended RunAlone(const std::vector<std::string>& flags);

// Runs `command` (the program, or a launcher and the program) with --json added. It must succeed.
// Returns the curve.
Curve RunForCurve(std::vector<std::string> command);

// Expects that every loss of `curve`, and its final loss, is within a relative 1e-4 of `expected`.
void ExpectSameLosses(const Curve& curve, const Curve& expected);

// Returns the lines of `output` that contain `text`.
std::vector<std::string> LinesWith(const std::string& text, const std::string& output);

}  // namespace digits

#endif  // MUSTER_TESTS_EXAMPLES_DIGITS_RUN_DIGITS_H_
