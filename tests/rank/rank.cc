// A rank of the tests. Does the steps in its arguments, in their order. The steps are those of
// interpreter.h, those of steps.h, and
//
//   primitives                  calls every primitive once
//   tensors, disagree           calls helpers on tensors: with values; rejected on all ranks
//   killed-in-all-reduce=R      calls a helper on tensors, in which rank R ends by SIGKILL
//   killed-in-average=R         calls another one
//
// "identity HOW" instead joins a job in the ways of muster/current_job.h, and prints its identity.

#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "tests/rank/interpreter.h"
#include "tests/rank/steps.h"

namespace muster::testing {
namespace {

Steps TensorSteps() {
  return {
      {"primitives", [](Job& job, const std::string&) { return EveryPrimitive(job); }},
      {"tensors", [](Job& job, const std::string&) { return ReduceAndGather(job); }},
      {"disagree", [](Job& job, const std::string&) { return Disagree(job); }},
      {"killed-in-all-reduce",
       [](Job& job, const std::string& rank) { return AllReduceKilling(job, std::stoi(rank)); }},
      {"killed-in-average",
       [](Job& job, const std::string& rank) { return AverageKilling(job, std::stoi(rank)); }},
  };
}

Steps AllSteps() {
  Steps all = TensorSteps();
  for (Steps steps : {WorkspaceSteps(), ExchangeSteps(), HelperSteps(), StuckSteps()}) {
    all.merge(steps);
  }
  return all;
}

int Run(const std::vector<std::string>& arguments) {
  if (arguments.size() != 2 || arguments[0] != "identity") return RunRank(arguments, AllSteps());
  const absl::Status told = TellIdentity(arguments[1]);
  if (!told.ok()) Print("error: " + told.ToString(absl::StatusToStringMode::kWithNoExtraData));
  return told.ok() ? 0 : 3;
}

}  // namespace
}  // namespace muster::testing

int main(int argc, char** argv) {
  return muster::testing::Run(std::vector<std::string>(argv + 1, argv + argc));
}
