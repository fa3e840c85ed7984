#include "examples/digits/flags.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <system_error>

namespace digits {
namespace {

constexpr int kUsageError = 2;
constexpr char kDataFile[] = "examples/digits/data/digits.csv.gz";

// The data set that Bazel lays beside the program; else the one of the source tree, if the program
// runs there.
std::string DefaultDataFile() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path beside = program.string() + ".runfiles/muster/" + kDataFile;
  return std::filesystem::exists(beside, error) ? beside.string() : kDataFile;
}

}  // namespace

std::optional<int> ParseFlags(int argc, char** argv, Flags* flags) {
  TrainingOptions& training = flags->training;
  flags->data = DefaultDataFile();
  CLI::App app(
      "Learns to read handwritten digits: softmax regression, trained by all ranks of a job "
      "together.\nRun it alone, or on four ranks with: muster run --nproc-per-node 4 -- digits",
      "digits");
  app.add_option("--epochs", training.epochs, "Passes over the training images")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--seed", training.seed, "Of the initial weights and the order of the images")
      ->capture_default_str();
  app.add_option("--batch", training.batch, "Images of one step, all ranks together")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--lr", training.learning_rate, "Learning rate")
      ->check(CLI::Range(1e-9, 100.0))
      ->capture_default_str();
  app.add_option("--data", flags->data,
                 "CSV file, or .csv.gz: 64 pixels from 0 to 16 and a label from 0 to 9 a line. "
                 "Every node needs it")
      ->capture_default_str();
  app.add_option("--backend", flags->backend,
                 "Data plane: gloo, nccl (default: the best one that is linked and usable)");
  app.add_option("--json", flags->json, "Rank 0 writes the curve to this file");
  app.add_option("--save", flags->save,
                 "Rank 0 writes the weights to this file: a line for each digit, its 64 weights "
                 "and its bias");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsageError;
  }
  return std::nullopt;
}

}  // namespace digits
