#include "tests/bench/race_report.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "tests/bench/common/address_layout.h"
#include "tests/bench/common/markdown_table.h"
#include "tests/bench/common/median.h"
#include "tests/bench/contestants/peers_home.h"

namespace muster::testing {
namespace {

using Field = double Sample::*;

constexpr char kNotInstalled[] = "not installed: tools/peers";

std::vector<double> Values(const std::vector<Sample>& samples, Field field) {
  std::vector<double> values;
  for (const Sample& sample : samples) values.push_back(sample.*field);
  return values;
}

std::string Rounded(double value) {
  return value < 99.5 ? absl::StrFormat("%.3g", value) : absl::StrFormat("%.0f", value);
}

// Returns the median ratio of rounds that were measured one after the other, so that other load on
// the machine affects both.
double Ratio(const std::vector<double>& ours, const std::vector<double>& theirs) {
  std::vector<double> ratios;
  for (size_t i = 0; i < ours.size(); ++i) ratios.push_back(ours[i] / theirs[i]);
  return MedianOf(std::move(ratios));
}

using Sides = std::vector<Side>;

void PrintHeadOf(const Sides& sides) {
  std::vector<std::string> titles = {"ranks", "operation"};
  for (const Side side : sides) {
    titles.push_back(TitleOf(side));
    if (side != sides.front()) titles.push_back("ratio");
  }
  PrintHead(titles);
}

// One side's cells for one or two figures.
struct Cells {
  std::vector<std::string> medians;
  std::vector<std::string> ratios;
};

Cells CellsOf(const Comparison& comparison, Side first, Side side,
              const std::vector<Field>& fields) {
  Cells cells;
  for (const Field field : fields) {
    const std::vector<double> ours = Values(comparison.samples.at(first), field);
    const std::vector<double> theirs = Values(comparison.samples.at(side), field);
    cells.medians.push_back(Rounded(MedianOf(theirs) / comparison.micros));
    cells.ratios.push_back(absl::StrFormat("%.2f", Ratio(ours, theirs)));
  }
  return cells;
}

void PrintRow(const Comparison& comparison, const Sides& sides, const std::vector<Field>& fields) {
  std::vector<std::string> row = {TextOf(comparison.shape),
                                  absl::StrCat(comparison.operation, ", ", comparison.unit)};
  for (const Side side : sides) {
    const bool there = comparison.samples.count(side) > 0;
    const Cells cells =
        there ? CellsOf(comparison, sides.front(), side, fields) : Cells{{kNotInstalled}, {"-"}};
    row.push_back(absl::StrJoin(cells.medians, " + "));
    if (side != sides.front()) row.push_back(absl::StrJoin(cells.ratios, ", "));
  }
  PrintLine(row);
}

void PrintTable(const std::string& title, const std::vector<Comparison>& comparisons,
                const Sides& sides, const std::vector<Field>& fields) {
  std::printf("\n%s\n\n", title.c_str());
  PrintHeadOf(sides);
  for (const Comparison& comparison : comparisons) PrintRow(comparison, sides, fields);
}

// Returns "torch 2.15.0, jaxlib 0.10.2", or what of these is installed.
std::string PeersVersions() {
  std::vector<std::string> versions;
  for (const char* const package : {"torch", "jaxlib"}) {
    const std::string version = PeerVersion(package);
    if (!version.empty()) versions.push_back(absl::StrCat(package, " ", version));
  }
  return absl::StrJoin(versions, ", ");
}

nlohmann::json ToJson(const Comparison& comparison) {
  nlohmann::json sides = nlohmann::json::object();
  for (const auto& [side, samples] : comparison.samples) {
    sides[NameOf(side)] = {{"wall_us", Values(samples, &Sample::wall)},
                           {"median_operation_us", Values(samples, &Sample::median)},
                           {"client_cpu_us", Values(samples, &Sample::client)},
                           {"service_cpu_us", Values(samples, &Sample::service)}};
  }
  return {{"nodes", comparison.shape.nodes},
          {"ranks", comparison.shape.ranks},
          {"operation", comparison.operation},
          {"sides", sides}};
}

}  // namespace

void PrintTables(const std::vector<Comparison>& comparisons, const std::vector<Columns>& all) {
  std::printf(
      "Medians of the rounds; a ratio is the first side's figure divided by the one on its "
      "left.\n");
  std::printf("Peers: %s. The addresses of processes are %s.\n", PeersVersions().c_str(),
              HasFixedAddresses() ? "fixed" : "random");
  for (const Columns& columns : all) {
    const std::string where = columns.title.empty() ? "" : " " + columns.title;
    PrintTable(absl::StrCat("Wall time of an operation", where, ":"), comparisons, columns.sides,
               {&Sample::wall});
    PrintTable(absl::StrCat("Processor time of an operation, in a rank's process + in the service "
                            "for each rank",
                            where, ":"),
               comparisons, columns.sides, {&Sample::client, &Sample::service});
  }
}

bool WriteJson(const std::vector<Comparison>& comparisons, const std::string& path) {
  nlohmann::json all = {{"date", absl::FormatTime("%Y-%m-%d", absl::Now(), absl::UTCTimeZone())},
                        {"processors", std::thread::hardware_concurrency()},
                        {"peers", PeersVersions()},
                        {"fixed_addresses", HasFixedAddresses()},
                        {"comparisons", nlohmann::json::array()}};
  for (const Comparison& comparison : comparisons) {
    all["comparisons"].push_back(ToJson(comparison));
  }
  std::ofstream file(path);
  file << all.dump(1) << std::endl;
  return file.good();
}

}  // namespace muster::testing
