#include "examples/allreduce/flags.h"

#include <CLI/CLI.hpp>
#include <map>
#include <string>

namespace allreduce {
namespace {

using muster::DataType;
using muster::ReduceOp;

constexpr int kUsageError = 64;  // docs/exit-codes.md

template <class T>
std::map<std::string, T> ByName(std::initializer_list<T> values) {
  std::map<std::string, T> names;
  for (T value : values) names[std::string(NameOf(value))] = value;
  return names;
}

const auto kCollectives =
    ByName({Collective::kAllReduce, Collective::kBroadcast, Collective::kReduce,
            Collective::kAllGather, Collective::kReduceScatter, Collective::kSendRecv});
const auto kTypes = ByName({DataType::kFloat32, DataType::kFloat64, DataType::kInt32,
                            DataType::kInt64, DataType::kUint8, DataType::kInt8, DataType::kUint32,
                            DataType::kUint64, DataType::kFloat16, DataType::kBfloat16});
const auto kOps = ByName(
    {ReduceOp::kSum, ReduceOp::kProduct, ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kAverage});

// Adds an option whose value is one of `names`.
template <class T>
void AddChoice(CLI::App* app, const std::string& flag, T* value,
               const std::map<std::string, T>& names, const std::string& what) {
  std::string list;
  for (const auto& [name, unused] : names) list += (list.empty() ? "" : ", ") + name;
  const auto complaint = [&names, list](const std::string& text) -> std::string {
    return names.count(text) > 0 ? "" : "'" + text + "' is none of " + list;
  };
  app->add_option_function<std::string>(
         flag, [value, &names](const std::string& text) { *value = names.at(text); },
         what + ": " + list)
      ->check(CLI::Validator(complaint, ""))
      ->type_name("NAME")
      ->default_str(std::string(NameOf(*value)));
}

void AddSizes(CLI::App* app, Flags* flags) {
  const CLI::AsSizeValue bytes(/*kb_is_1000=*/false);
  app->add_option("-b,--min-bytes", flags->min_bytes,
                  "Smallest size; 4K, 64M and 1G are understood")
      ->transform(bytes)
      ->type_name("SIZE")
      ->default_str("1K");
  app->add_option("-e,--max-bytes", flags->max_bytes, "Largest size")
      ->transform(bytes)
      ->type_name("SIZE")
      ->default_str("16M");
  app->add_option("-f,--step-factor", flags->step_factor, "Each size is the last one times this")
      ->check(CLI::Range(2, 1024))
      ->type_name("N")
      ->capture_default_str();
}

void AddRepetitions(CLI::App* app, Flags* flags) {
  app->add_option("--warmup", flags->warmup, "Operations of each size that are not measured")
      ->check(CLI::Range(0, 1000000))
      ->type_name("N")
      ->capture_default_str();
  app->add_option("--iterations", flags->iterations, "Operations of each size that are")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N")
      ->capture_default_str();
  app->add_flag("--check,!--no-check", flags->check,
                "Compare what the operation brings with what it should (the default)");
}

}  // namespace

std::optional<int> ParseFlags(int argc, char** argv, Flags* flags) {
  CLI::App app(
      "Measures the bandwidth of a collective, in the manner of nccl-tests, between the ranks of a "
      "job.\nOn four ranks of this machine: muster run --nproc-per-node 4 -- allreduce -e 64M",
      "allreduce");
  AddChoice(&app, "--collective", &flags->collective, kCollectives, "What to measure");
  AddChoice(&app, "--type", &flags->type, kTypes, "Of an element");
  AddChoice(&app, "--op", &flags->op, kOps, "Reduction");
  AddSizes(&app, flags);
  AddRepetitions(&app, flags);
  app.add_option("--backend", flags->backend,
                 "Data plane: gloo, nccl (default: the best one that is linked and usable)")
      ->type_name("NAME");
  try {
    app.parse(argc, argv);
    if (flags->min_bytes == 0) throw CLI::ValidationError("--min-bytes", "must be at least 1");
    if (flags->max_bytes < flags->min_bytes) {
      throw CLI::ValidationError("--max-bytes", "is less than --min-bytes");
    }
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsageError;
  }
  return std::nullopt;
}

}  // namespace allreduce
