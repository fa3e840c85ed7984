// The table of the scenarios without faults, and the options that they share.

#include <map>
#include <string>

#include "absl/strings/str_split.h"
#include "tests/client/nccl/rank/nccl_scenario.h"

namespace muster::testing {

Arguments::Arguments(const std::string& text) {
  for (const absl::string_view word : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> pair = absl::StrSplit(word, absl::MaxSplits('=', 1));
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

Step ScenarioStep(Scenario scenario) {
  return [scenario](Job& job, const std::string& text) { return scenario(job, Arguments(text)); };
}

Steps FaultFreeScenarios() {
  return {
      {"device-values", ScenarioStep(DeviceValues)},
      {"host-values", ScenarioStep(HostValues)},
      {"stream-order", ScenarioStep(StreamOrder)},
      {"refusals", ScenarioStep(Refusals)},
      {"splits", ScenarioStep(Splits)},
      {"end-one-of-two", ScenarioStep(EndOneOfTwo)},
      {"end-beside-a-hang", ScenarioStep(EndBesideAHang)},
  };
}

}  // namespace muster::testing
