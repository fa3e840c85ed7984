#ifndef MUSTER_TESTS_SIMULATION_PROGRAM_CALL_RESULTS_H_
#define MUSTER_TESTS_SIMULATION_PROGRAM_CALL_RESULTS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster::simulation {

// The results of a schedule that must not depend on when messages arrive: how each collective ended
// for each rank, and how its program ended. Calls that timed out or were cancelled are left out,
// because the program makes them again. So are leases: the first rank that asks gets the work.
class CallResults {
 public:
  // `call` names a call of the process at this place in this epoch.
  void Note(uint32_t place, uint64_t epoch_nonce, const std::string& call,
            const absl::Status& status, const std::vector<std::string>& payloads = {}) {
    epochs_.insert(epoch_nonce);
    std::string& result = results_[absl::StrCat("place ", place, ", ", call)];
    absl::StrAppend(&result, absl::StatusCodeToString(status.code()), " [",
                    absl::StrJoin(payloads, ", "), "] ");
  }

  const std::map<std::string, std::string>& results() const { return results_; }
  // Returns the nonces of the epochs. Other epochs have other programs.
  const std::set<uint64_t>& epochs() const { return epochs_; }

 private:
  std::map<std::string, std::string> results_;
  std::set<uint64_t> epochs_;
};

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_PROGRAM_CALL_RESULTS_H_
