// One rank of the tests of client/nccl. Joins its job, does what its first argument names, and
// prints a line for each thing a test may wait for. An error that ends the scenario is printed and
// makes the status 3.

#include <iostream>
#include <map>
#include <string>

#include "absl/strings/str_split.h"
#include "tests/client/nccl/scenario.h"

namespace muster::testing {

Arguments::Arguments(int argc, char** argv) {
  for (int i = 2; i < argc; ++i) {
    const std::pair<std::string, std::string> pair =
        absl::StrSplit(argv[i], absl::MaxSplits('=', 1));
    values_.insert(pair);
  }
}

std::string Arguments::Text(const std::string& name, const std::string& otherwise) const {
  const auto it = values_.find(name);
  return it == values_.end() ? otherwise : it->second;
}

int Arguments::Int(const std::string& name, int otherwise) const {
  return Has(name) ? std::stoi(Text(name, "")) : otherwise;
}

absl::Duration Arguments::Seconds(const std::string& name, double otherwise) const {
  return absl::Seconds(Has(name) ? std::stod(Text(name, "")) : otherwise);
}

NcclOptions OptionsOf(const Arguments& arguments) {
  NcclOptions options;
  if (arguments.Has("device")) options.device = arguments.Int("device", 0);
  if (arguments.Has("timeout")) options.timeout = arguments.Seconds("timeout", 0);
  options.allow_shared_gpu = arguments.Has("shared");
  return options;
}

absl::Status Expect(bool condition, const std::string& what) {
  return condition ? absl::OkStatus() : absl::DataLossError(what);
}

void Say(const std::string& line) { std::cout << line << std::endl; }

namespace {

constexpr int kError = 3;

const std::map<std::string, Scenario>& Scenarios() {
  static const auto* const kScenarios = new std::map<std::string, Scenario>{
      {"device-values", &DeviceValues},
      {"host-values", &HostValues},
      {"refusals", &Refusals},
      {"splits", &Splits},
      {"shrinks", &Shrinks},
      {"shrinks-after-loss", &ShrinksAfterLoss},
      {"one-split", &OneSplit},
      {"create", &CreateOne},
      {"reduce-forever", &ReduceForever},
      {"reduce-once", &ReduceOnce},
      {"host-reduce-once", &HostReduceOnce},
      {"helpers", &Helpers},
      {"device", &ShowDevice},
      {"rounds", &Rounds},
  };
  return *kScenarios;
}

int RunRank(int argc, char** argv) {
  const Arguments arguments(argc, argv);
  auto job = Job::Join(JobOptions::FromEnvironment());
  const absl::Status status = job.ok() ? Scenarios().at(argv[1])(**job, arguments) : job.status();
  if (status.ok()) {
    Say(absl::StrCat("rank ", (*job)->rank(), " is done"));
    return 0;
  }
  Say(absl::StrCat("error: ", status.ToString()));
  return kError;
}

}  // namespace
}  // namespace muster::testing

int main(int argc, char** argv) { return muster::testing::RunRank(argc, argv); }
