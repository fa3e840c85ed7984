#ifndef MUSTER_TESTS_SIMULATION_WORLD_SIMULATED_PROCESS_H_
#define MUSTER_TESTS_SIMULATION_WORLD_SIMULATED_PROCESS_H_

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/src/protocol/member_core.h"
#include "tests/simulation/world/node_member.h"
#include "tests/simulation/world/simulated_node_memory.h"
#include "tests/simulation/world/simulation_state.h"

namespace muster::simulation {

using ProcessId = int;

// One process of the job: the SDK's MemberCore on simulated time. A fake network replaces the SDK's
// threads and gRPC. Checks that every call ends once and in time.
class Process : private NodeMember::Host {
 public:
  // The connection to the coordinator.
  class Wire {
   public:
    virtual ~Wire() = default;
    virtual void Send(ProcessId from, internal::SendCall send) = 0;
    virtual void Open(ProcessId from, internal::OpenStream open) = 0;
    virtual void Cancel(ProcessId from, uint64_t attempt) = 0;
  };

  // The environment of a process.
  struct Environment {
    SimulationState* simulation;
    Wire* wire;
    NodeMemories* memories;
    bool shares_memory;  // with the other processes of its node
    uint64_t seed;
  };

  // The pointers in `environment` must outlive this.
  Process(ProcessId id, internal::MemberOptions options, const Environment& environment);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Attaches.
  void Start();

  // Begins a call, which must end within `timeout` and the time that the SDK may add. `done` must
  // not begin another call before it returns.
  using Begin = absl::FunctionRef<internal::Effects(internal::MemberCore&, internal::SteadyTime,
                                                    internal::CallId)>;
  using Done = std::function<void(absl::StatusOr<internal::Response>)>;
  internal::CallId Call(std::string what, absl::Duration timeout, Begin begin, Done done);

  // Runs a step that has no result.
  using Step = absl::FunctionRef<internal::Effects(internal::MemberCore&, internal::SteadyTime)>;
  void Run(Step step);

  // Called by the network.
  void OnReply(uint64_t attempt, const absl::Status& status, internal::Response response);
  void OnStreamResponse(uint64_t attempt, const v1::AttachResponse& response);
  void OnStreamEnd(uint64_t attempt, const absl::Status& status);

  // Ends the process and drops its calls.
  void Kill();
  // Calls `death` after this many more steps in the node's shared memory. `death` must Kill() the
  // process.
  void DieAtNodeAfter(int steps, std::function<void()> death) {
    node_.DieAfter(steps, std::move(death));
  }
  bool alive() const override { return alive_; }
  // Stops the process until `time`. The network delivers nothing to it before.
  void PauseUntil(absl::Duration time) { paused_until_ = std::max(paused_until_, time); }
  absl::Duration paused_until() const override { return paused_until_; }

  ProcessId id() const { return id_; }
  const internal::Identity& identity() const { return identity_; }
  const internal::MemberCore& member() const { return member_; }
  // Names the calls for which a living process still waits; empty if there are none.
  std::string Waiting() const;

 private:
  struct Open {
    std::string what;
    absl::Duration begun;
    absl::Duration must_end;
    Done done;
  };

  void Apply(internal::Effects effects);
  void Do(internal::SendCall send);
  void Do(internal::OpenStream open);
  void Do(const internal::CancelSend& cancel);
  void Do(const internal::EnterNode& enter) { node_.Enter(enter); }
  void Do(const internal::StartFanIn& meet) { node_.Arrive(meet); }
  void Do(const internal::LeaveFanIn& leave) { node_.Leave(leave.attempt); }
  void Do(const internal::SkipFanIn& pass) { node_.Pass(pass); }
  void Do(const internal::RetireFanInGroup& leave) { node_.Retire(leave.name); }
  void Do(const internal::WriteLog& log);
  // NodeMember::Host:
  void OnFanInEnd(uint64_t attempt, const internal::FanInEnd& end) override;
  std::optional<internal::Delivery> CompleteOnNode(
      uint64_t attempt, const std::vector<internal::TakenPart>& parts) override;
  void SendForNode(uint64_t attempt, const std::vector<internal::TakenPart>& parts,
                   Sent sent) override;
  void Finish(internal::Completion completion);
  void CheckInTime(const Open& call) const;
  void Arm();
  void Ring(internal::SteadyTime due);
  internal::SteadyTime Now() const;

  const ProcessId id_;
  const internal::Identity identity_;
  SimulationState* const simulation_;
  Wire* const wire_;
  internal::MemberCore member_;
  NodeMember node_;
  bool alive_ = true;
  absl::Duration paused_until_;
  internal::SteadyTime armed_ = internal::SteadyTime::max();
  internal::CallId next_call_ = 1;
  std::map<internal::CallId, Open> calls_;
};

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_WORLD_SIMULATED_PROCESS_H_
