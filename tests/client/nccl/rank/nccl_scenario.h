#ifndef MUSTER_TESTS_CLIENT_NCCL_RANK_NCCL_SCENARIO_H_
#define MUSTER_TESTS_CLIENT_NCCL_RANK_NCCL_SCENARIO_H_

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "muster/job.h"
#include "muster/nccl.h"
#include "tests/rank/interpreter.h"

// Scenarios that a rank of the tests can run, as its step SCENARIO[=NAME[=VALUE],...].
namespace muster::testing {

// The details of a scenario: "absent=1,warm".
class Arguments {
 public:
  explicit Arguments(const std::string& text);

  bool Has(const std::string& name) const { return values_.count(name) > 0; }
  std::string Text(const std::string& name, const std::string& otherwise) const;
  int Int(const std::string& name, int otherwise) const;
  absl::Duration Seconds(const std::string& name, double otherwise) const;

 private:
  std::map<std::string, std::string> values_;
};

using Scenario = absl::Status (*)(Job& job, const Arguments& arguments);

// Values (device_values.cc, host_values.cc, streams.cc).
absl::Status DeviceValues(Job& job, const Arguments& arguments);
absl::Status HostValues(Job& job, const Arguments& arguments);
absl::Status StreamOrder(Job& job, const Arguments& arguments);
absl::Status Configuration(Job& job, const Arguments& arguments);
absl::Status Refusals(Job& job, const Arguments& arguments);
// One communicator made from another.
absl::Status Splits(Job& job, const Arguments& arguments);
absl::Status EndOneOfTwo(Job& job, const Arguments& arguments);
absl::Status EndBesideAHang(Job& job, const Arguments& arguments);
absl::Status OneSplit(Job& job, const Arguments& arguments);
// One communicator, in a job or with a library that misbehaves.
absl::Status CreateOne(Job& job, const Arguments& arguments);
absl::Status ReduceForever(Job& job, const Arguments& arguments);
absl::Status ReduceOnce(Job& job, const Arguments& arguments);
absl::Status HostReduceOnce(Job& job, const Arguments& arguments);
absl::Status GrowBesideAHang(Job& job, const Arguments& arguments);
// Peers that stop NCCL.
absl::Status GiveUpFirst(Job& job, const Arguments& arguments);
absl::Status OperateUntilLoss(Job& job, const Arguments& arguments);
// Helpers on top of Job and Communicator.
absl::Status Helpers(Job& job, const Arguments& arguments);
absl::Status ShowDevice(Job& job, const Arguments& arguments);
// Many communicators.
absl::Status Rounds(Job& job, const Arguments& arguments);

Step ScenarioStep(Scenario scenario);

// Returns the scenarios in which nothing goes wrong. They do not use the stand-ins, so they also
// run on a GPU (tests/gpu).
Steps FaultFreeScenarios();

// Calls every operation of the interface, on device memory and a stream of the caller's.
absl::Status CheckTensorOperations(TensorOperations& comm);

// Returns the options of a communicator, from the arguments device, shared and timeout.
NcclOptions OptionsOf(const Arguments& arguments);

}  // namespace muster::testing

#endif  // MUSTER_TESTS_CLIENT_NCCL_RANK_NCCL_SCENARIO_H_
