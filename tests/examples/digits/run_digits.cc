#include "tests/examples/digits/run_digits.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "tests/examples/digits/temp_file.h"

namespace digits {
namespace {

using ::muster::testing::Exit;
using ::muster::testing::Process;
using ::muster::testing::ReadFile;

constexpr double kTolerance = 1e-4;
constexpr absl::Duration kLongest = absl::Minutes(3);

Ended RunCommand(const std::vector<std::string>& command) {
  const std::unique_ptr<Process> process = Process::Start(command);
  const Exit exit = process->Wait(kLongest);
  return {exit, process->Output()};
}

void ReadFinalLine(const std::string& output, Curve* curve) {
  const std::vector<std::string> lines = LinesWith("final loss=", output);
  ASSERT_EQ(lines.size(), 1) << output;
  curve->final_line = lines[0].substr(lines[0].find("final"));  // a launcher may add a prefix
  char end = 0;
  ASSERT_EQ(std::sscanf(curve->final_line.c_str(), "final loss=%lf accuracy=%lf%c",
                        &curve->final_loss, &curve->final_accuracy, &end),
            2)
      << lines[0];
}

void ReadJson(const std::string& path, Curve* curve) {
  const nlohmann::json json = nlohmann::json::parse(ReadFile(path), nullptr, /*exceptions=*/false);
  ASSERT_TRUE(json.is_object()) << path;
  for (const nlohmann::json& epoch : json["epochs"]) {
    curve->losses.push_back(epoch["loss"]);
    curve->accuracies.push_back(epoch["accuracy"]);
  }
}

// Adds the shipped data, unless the command names another file.
std::vector<std::string> WithData(std::vector<std::string> command) {
  if (!absl::c_linear_search(command, "--data")) {
    command.insert(command.end(), {"--data", DataPath()});
  }
  return command;
}

bool Agree(double a, double b) { return std::abs(a - b) <= kTolerance * std::abs(b); }

}  // namespace

std::string ProgramPath() { return muster::testing::Runfile("examples/digits/digits"); }

std::string DataPath() { return muster::testing::Runfile("examples/digits/data/digits.csv.gz"); }

std::vector<std::string> CommandAlone(const std::vector<std::string>& flags) {
  std::vector<std::string> command = {ProgramPath()};
  command.insert(command.end(), flags.begin(), flags.end());
  return command;
}

Ended RunAlone(const std::vector<std::string>& flags) {
  return RunCommand(WithData(CommandAlone(flags)));
}

Curve RunForCurve(std::vector<std::string> command) {
  const std::string json = TempFile("curve.json", "");
  command.insert(command.end(), {"--json", json});
  const Ended run = RunCommand(WithData(std::move(command)));
  EXPECT_EQ(run.exit, (Exit{false, 0})) << run.output;
  Curve curve;
  ReadFinalLine(run.output, &curve);
  ReadJson(json, &curve);
  return curve;
}

void ExpectSameLosses(const Curve& curve, const Curve& expected) {
  ASSERT_FALSE(expected.losses.empty());
  ASSERT_EQ(curve.losses.size(), expected.losses.size());
  for (size_t i = 0; i < expected.losses.size(); ++i) {
    EXPECT_TRUE(Agree(curve.losses[i], expected.losses[i]))
        << "epoch " << i + 1 << ": loss " << curve.losses[i] << ", expected " << expected.losses[i];
  }
  EXPECT_TRUE(Agree(curve.final_loss, expected.final_loss)) << curve.final_line;
}

std::vector<std::string> LinesWith(const std::string& text, const std::string& output) {
  std::vector<std::string> lines;
  for (absl::string_view line : absl::StrSplit(output, '\n')) {
    if (absl::StrContains(line, text)) lines.emplace_back(line);
  }
  return lines;
}

}  // namespace digits
