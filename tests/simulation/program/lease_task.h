#ifndef MUSTER_TESTS_SIMULATION_PROGRAM_LEASE_TASK_H_
#define MUSTER_TESTS_SIMULATION_PROGRAM_LEASE_TASK_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "client/src/protocol/messages/member_requests.h"
#include "tests/simulation/program/plan.h"
#include "tests/simulation/program/program_task.h"

namespace muster::simulation {

// Leased work that is done but not published, because the epoch broke first.
struct UnpublishedWork {
  LeaseStep lease;
  uint64_t token = 0;
  absl::StatusOr<std::string> outcome;
};

// One rank's leased work. For each piece, this rank does the work or learns the outcome from
// another rank.
class LeaseTask final : public ProgramTask {
 public:
  // `plan` and `unpublished` must outlive this. Work in `*unpublished` is published first.
  LeaseTask(ProgramState* program_state, const Place& place, const EpochPlan* plan,
            std::optional<UnpublishedWork>* unpublished, OnEnd on_end);

  void Start() override;

 private:
  void Next();
  void Acquire();
  void Acquired(absl::Duration timeout, absl::StatusOr<internal::Response> reply);
  void Learn(const v1::LeaseResult& result);
  void Work(uint64_t token, int writes);
  void Finish(uint64_t token);
  void Complete();
  void Completed(const absl::Status& status);
  void GiveUp(uint64_t token);

  const LeaseStep& step() const { return plan_->leases[next_]; }
  std::string Key(const LeaseStep& lease) const;

  const EpochPlan* const plan_;
  std::optional<UnpublishedWork>* const unpublished_;
  const size_t steps_;
  size_t next_ = 0;
  int tries_ = 0;
  int given_up_ = 0;
};

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_PROGRAM_LEASE_TASK_H_
