#include "tests/bench/control_plane_report.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"

namespace muster::testing {
namespace {

using Field = double Sample::*;

constexpr char kNotInstalled[] = "not installed: tools/peers";

double MedianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::vector<double> Values(const std::vector<Sample>& samples, Field field) {
  std::vector<double> values;
  for (const Sample& sample : samples) values.push_back(sample.*field);
  return values;
}

std::string Rounded(double value) { return absl::StrFormat(value < 99.5 ? "%.3g" : "%.0f", value); }

// Of rounds that were made one after the other, so that what the machine did meanwhile hits both.
double Ratio(const std::vector<double>& ours, const std::vector<double>& theirs) {
  std::vector<double> ratios;
  for (size_t i = 0; i < ours.size(); ++i) ratios.push_back(ours[i] / theirs[i]);
  return MedianOf(std::move(ratios));
}

void PrintLine(const std::vector<std::string>& cells) {
  std::printf("| %s |\n", absl::StrJoin(cells, " | ").c_str());
}

void PrintHead() {
  std::vector<std::string> titles = {"ranks", "operation"};
  for (const Side side : kSides) {
    titles.push_back(TitleOf(side));
    if (side != Side::kMuster) titles.push_back("ratio");
  }
  PrintLine(titles);
  PrintLine(std::vector<std::string>(titles.size(), "---"));
}

void PrintRow(const Comparison& comparison, Field field) {
  std::vector<std::string> cells = {absl::StrCat(comparison.ranks), comparison.operation};
  const std::vector<double> ours = Values(comparison.samples.at(Side::kMuster), field);
  for (const Side side : kSides) {
    const auto found = comparison.samples.find(side);
    const bool there = found != comparison.samples.end();
    const std::vector<double> theirs = there ? Values(found->second, field) : std::vector<double>();
    cells.push_back(there ? Rounded(MedianOf(theirs)) : kNotInstalled);
    if (side != Side::kMuster) cells.push_back(there ? Rounded(Ratio(ours, theirs)) : "-");
  }
  PrintLine(cells);
}

void PrintTable(const char* title, const std::vector<Comparison>& comparisons, Field field) {
  std::printf("\n%s\n\n", title);
  PrintHead();
  for (const Comparison& comparison : comparisons) PrintRow(comparison, field);
}

nlohmann::json ToJson(const Comparison& comparison) {
  nlohmann::json sides = nlohmann::json::object();
  for (const auto& [side, samples] : comparison.samples) {
    sides[NameOf(side)] = {{"wall_us", Values(samples, &Sample::wall)},
                           {"median_operation_us", Values(samples, &Sample::median)},
                           {"client_cpu_us", Values(samples, &Sample::client)},
                           {"service_cpu_us", Values(samples, &Sample::service)}};
  }
  return {{"ranks", comparison.ranks}, {"operation", comparison.operation}, {"sides", sides}};
}

}  // namespace

void PrintTables(const std::vector<Comparison>& comparisons) {
  std::printf("Medians; a ratio is Muster's figure divided by the one on its left.\n");
  PrintTable("Microseconds of one operation:", comparisons, &Sample::wall);
  PrintTable("Microseconds of processor time that one operation takes in a rank's process:",
             comparisons, &Sample::client);
  PrintTable("Microseconds of processor time that one operation of one rank takes in the service:",
             comparisons, &Sample::service);
}

bool WriteJson(const std::vector<Comparison>& comparisons, const std::string& path) {
  nlohmann::json all = {{"processors", std::thread::hardware_concurrency()},
                        {"comparisons", nlohmann::json::array()}};
  for (const Comparison& comparison : comparisons) {
    all["comparisons"].push_back(ToJson(comparison));
  }
  std::ofstream file(path);
  file << all.dump(1) << std::endl;
  return file.good();
}

}  // namespace muster::testing
