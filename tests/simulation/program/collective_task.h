#ifndef MUSTER_TESTS_SIMULATION_PROGRAM_COLLECTIVE_TASK_H_
#define MUSTER_TESTS_SIMULATION_PROGRAM_COLLECTIVE_TASK_H_

#include <functional>
#include <string>
#include <vector>

#include "client/src/protocol/messages/member_requests.h"
#include "tests/simulation/program/plan.h"
#include "tests/simulation/program/program_task.h"

namespace muster::simulation {

// One rank's collectives in one group. Calls that time out or are cancelled are made again.
class CollectiveTask final : public ProgramTask {
 public:
  // `plan` must outlive this. `on_step` is called after each step.
  CollectiveTask(ProgramState* program_state, const Place& place, const EpochPlan* plan,
                 const GroupPlan* group, std::function<void()> on_step, OnEnd on_end);

  void Start() override;

 private:
  void CallNext();
  // Returns the call that this rank makes at the current step.
  internal::CollectiveCall Call() const;
  bool IsOverlong() const { return group_->steps[next_].overlong && !corrected_; }
  void Done(absl::Duration timeout, absl::StatusOr<internal::Response> reply);
  void Completed(internal::Response response);
  void NoteResult(const absl::Status& status, const std::vector<std::string>& payloads = {});
  bool MeetsDisagreement() const;
  void CheckRefusal(const absl::Status& status);
  std::string Name() const;

  const EpochPlan* const plan_;
  const GroupPlan* const group_;
  const std::function<void()> on_step_;
  const size_t index_;  // of this rank in the group
  const size_t steps_;
  size_t next_ = 0;
  uint64_t sequence_ = 0;   // a step whose answer is too large takes no number
  bool corrected_ = false;  // this step's overlong label was refused
  int tries_ = 0;
};

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_PROGRAM_COLLECTIVE_TASK_H_
