#ifndef MUSTER_TESTS_SIMULATION_PROGRAM_PASSING_GROUP_TASK_H_
#define MUSTER_TESTS_SIMULATION_PROGRAM_PASSING_GROUP_TASK_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "client/src/protocol/messages/group_id.h"
#include "client/src/protocol/messages/member_requests.h"
#include "tests/simulation/program/program_task.h"

namespace muster::simulation {

// Returns whether programs release and recreate this group again and again. Its sequence numbers
// then begin at 0 several times.
inline bool IsPassing(absl::string_view group) { return absl::StartsWith(group, "passing"); }

// One rank's collectives in groups that it releases, at any time between two calls, and creates
// again. All ranks take the same steps in the same order. Each step's answer must consist of what
// the ranks contribute to this step. A daemon that confused a group with a later or earlier one of
// the same ranks would mix them up.
//
// If groups are without end, each step has a group of another name, and the task ends once this
// process has forgotten all of them.
class PassingGroupTask final : public ProgramTask {
 public:
  PassingGroupTask(ProgramState* program_state, const Place& place, OnEnd on_end);

  void Start() override;

 private:
  void MoveOn();
  void CallNext();
  void Done(absl::Duration timeout, absl::StatusOr<internal::Response> reply);
  void DropSome(double chance);
  void AwaitForgotten();
  bool KnowsPassingGroup() const;
  bool TakesPart(size_t step) const;
  // Returns the number of the step's group. Steps of the same number have the same group.
  size_t NumberOf(size_t step) const;
  internal::GroupId GroupOf(size_t step) const;
  std::string PayloadOf(size_t step, int rank) const;
  std::string Name() const;

  const bool endless_;
  std::vector<size_t> kinds_;  // by step: which ranks take part
  std::set<size_t> held_;      // numbers of the groups that this rank has a handle of
  size_t next_ = 0;
  int tries_ = 0;
};

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_PROGRAM_PASSING_GROUP_TASK_H_
