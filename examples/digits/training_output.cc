#include "examples/digits/training_output.h"

#include <cerrno>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"

namespace digits {
namespace {

// Flushes, so that each line is visible at once.
void Print(const std::string& line) { std::cout << line << std::endl; }

// Returns the range of the ranks' losses, or an empty text if they are equal.
std::string RankSpread(const EpochReport& report) {
  if (report.lowest_rank_loss == report.highest_rank_loss) return "";
  return absl::StrFormat(" (by rank %.4f to %.4f)", report.lowest_rank_loss,
                         report.highest_rank_loss);
}

absl::Status WriteFile(const std::string& path, const std::string& contents) {
  std::ofstream file(path, std::ios::binary);
  file << contents;
  file.close();
  if (!file) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  return absl::OkStatus();
}

}  // namespace

void PrintSetup(const muster::Job& job, const muster::Communicator& communicator,
                const Dataset& data) {
  Print(absl::StrFormat("job '%s': world size %d, %d node(s), data plane %s", job.id(),
                        job.world_size(), job.num_nodes(), communicator.backend()));
  for (const muster::Member& member : job.members()) {
    Print(absl::StrFormat("rank %d: node %s, local rank %d, process %d on %s", member.rank,
                          member.node_id, member.local_rank, member.pid, member.hostname));
  }
  Print(absl::StrFormat("%d images to train on, %d held out", data.training.size(),
                        data.held_out.size()));
}

void PrintEpoch(const EpochReport& report) {
  Print(absl::StrFormat("epoch %3d  loss %.6f%s  held-out accuracy %.4f  %.0f images/s",
                        report.epoch, report.loss, RankSpread(report), report.accuracy,
                        report.images_per_second));
}

void PrintResult(const EpochReport& last) {
  Print(absl::StrFormat("final loss=%#.12g accuracy=%#.12g", last.loss, last.accuracy));
}

absl::Status WriteCurve(const std::string& path, const TrainingOptions& options, int world_size,
                        const std::vector<EpochReport>& curve) {
  nlohmann::ordered_json json = {{"world_size", world_size},
                                 {"seed", options.seed},
                                 {"batch", options.batch},
                                 {"learning_rate", options.learning_rate},
                                 {"epochs", nlohmann::json::array()}};
  for (const EpochReport& report : curve) {
    json["epochs"].push_back({{"epoch", report.epoch},
                              {"loss", report.loss},
                              {"accuracy", report.accuracy},
                              {"images_per_second", report.images_per_second}});
  }
  return WriteFile(path, json.dump(2) + "\n");
}

absl::Status WriteParameters(const std::string& path, const Parameters& parameters) {
  const auto exact = [](std::string* out, double value) {
    absl::StrAppendFormat(out, "%.17g", value);
  };
  std::string csv;
  for (int k = 0; k < kClasses; ++k) {
    const auto row =
        absl::MakeConstSpan(parameters).subspan(k * kParametersPerClass, kParametersPerClass);
    absl::StrAppend(&csv, absl::StrJoin(row, ",", exact), "\n");
  }
  return WriteFile(path, csv);
}

}  // namespace digits
