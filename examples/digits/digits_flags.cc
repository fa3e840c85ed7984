#include "examples/digits/digits_flags.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "examples/digits/dataset.h"
#include "muster/exit_code.h"

namespace digits {
namespace {

constexpr int kUsageError = muster::kExitBadConfiguration;

bool Parse(const std::string& text, int* value) { return absl::SimpleAtoi(text, value); }
bool Parse(const std::string& text, uint64_t* value) { return absl::SimpleAtoi(text, value); }
bool Parse(const std::string& text, double* value) { return absl::SimpleAtod(text, value); }

// Replaces CLI11's Range, which accepts NaN and numbers that wrap around.
template <class T>
CLI::Validator Between(T min, T max) {
  const auto complaint = [=](const std::string& text) -> std::string {
    T value;
    if (Parse(text, &value) && min <= value && value <= max) return "";
    const char* kind = std::is_integral_v<T> ? "an integer" : "a number";
    return absl::StrCat("'", text, "' is not ", kind, " from ", min, " to ", max);
  };
  return CLI::Validator(complaint, "");
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
      ->check(Between(1, 1000000))
      ->capture_default_str();
  app.add_option("--seed", training.seed, "Of the initial weights and the order of the images")
      ->check(Between(uint64_t{0}, std::numeric_limits<uint64_t>::max()))
      ->capture_default_str();
  app.add_option("--batch", training.batch, "Images of one step, all ranks together")
      ->check(Between(1, 1000000))
      ->capture_default_str();
  app.add_option("--lr", training.learning_rate, "Learning rate")
      ->check(Between(1e-9, 100.0))
      ->capture_default_str();
  app.add_option("--data", flags->data,
                 "CSV file, or .csv.gz: 64 pixels from 0 to 16 and a label from 0 to 9 a line. "
                 "Every node needs it (default: the digits that come with the program)");
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
