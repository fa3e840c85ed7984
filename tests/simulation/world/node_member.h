#ifndef MUSTER_TESTS_SIMULATION_WORLD_NODE_MEMBER_H_
#define MUSTER_TESTS_SIMULATION_WORLD_NODE_MEMBER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "client/src/node/fan_in_round.h"
#include "client/src/protocol/messages/member_effects.h"
#include "tests/simulation/world/random.h"
#include "tests/simulation/world/simulated_node_memory.h"
#include "tests/simulation/world/simulation_state.h"

namespace muster::simulation {

// The operating system as FanInRound sees it, on simulated time. NodeMember::Touch() sets the
// member that the static functions act for.
struct SimulatedFutex {
  static void Step();
  static int64_t Now();
  static void Wake(internal::SlotFutex* bell);
};

// One process's part in node fan-in. It replaces the SDK's FanInDriver and the threads that wait
// there. The process may die between any two of its steps in shared memory.
class NodeMember {
 public:
  // The process, as NodeMember calls it.
  class Host {
   public:
    virtual ~Host() = default;
    virtual bool alive() const = 0;
    virtual absl::Duration paused_until() const = 0;
    virtual void OnFanInEnd(uint64_t attempt, const internal::FanInEnd& end) = 0;
    using Sent = std::function<void(std::optional<internal::Delivery>)>;
    virtual std::optional<internal::Delivery> CompleteOnNode(
        uint64_t attempt, const std::vector<internal::TakenPart>& parts) = 0;
    virtual void SendForNode(uint64_t attempt, const std::vector<internal::TakenPart>& parts,
                             Sent sent) = 0;
  };

  // All pointers must outlive this. `shares` is false if the process has no memory in common with
  // the others.
  NodeMember(Host* host, SimulationState* simulation, NodeMemories* memories, bool shares,
             uint64_t seed);

  // Carry out the effects of MemberCore on the node. Retire() ends the fan-in of a group.
  void Enter(const internal::EnterNode& enter);
  void Arrive(const internal::StartFanIn& meet);
  void Leave(uint64_t attempt);
  void Pass(const internal::SkipFanIn& pass);
  void Retire(uint64_t group);

  // Calls `death` after this many more steps in shared memory. `death` must kill the process.
  void DieAfter(int steps, std::function<void()> death);

 private:
  friend struct SimulatedFutex;
  using FanInRound = internal::FanInRound<SimulatedFutex>;
  struct Place {
    Place(internal::SharedGroup memory, std::vector<uint32_t> group, uint32_t self)
        : bell(memory.bell),
          slots(std::move(memory), std::move(group), self),
          round(&slots, internal::FanInTimes()) {}

    internal::SlotFutex* const bell;
    internal::FanInSlots<SimulatedFutex> slots;
    FanInRound round;
    uint64_t attempt = 0;  // of the round in progress
    uint64_t waits = 0;    // how often the member has begun to wait
  };
  using PlacePtr = std::shared_ptr<Place>;
  struct Died {};

  PlacePtr Find(const internal::NodeGroup& group);
  // Runs `what`, which accesses the shared memory. Returns false if the process died in the middle.
  bool Touch(absl::FunctionRef<void()> what);
  // Runs `what` after `delay`, or later if the process is paused, unless it has died by then.
  void Later(absl::Duration delay, std::function<void()> what);
  void Advance(const PlacePtr& place, uint64_t attempt);
  void Wait(const PlacePtr& place, const FanInRound::Wait& wait);
  void Send(const PlacePtr& place, const std::vector<internal::TakenPart>& parts);
  // Ends the round with this result, after a while.
  void Sent(const PlacePtr& place, std::optional<internal::Delivery> sent);
  void End(const PlacePtr& place, const internal::FanInEnd& end);
  absl::Duration ThreadDelay() {
    return random_.Between(absl::ZeroDuration(), absl::Microseconds(200));
  }

  Host* const host_;
  SimulationState* const simulation_;
  NodeMemories* const memories_;
  const bool shares_;
  Random random_;
  std::shared_ptr<NodeMemory> memory_;
  uint32_t self_ = 0;
  std::map<uint64_t, PlacePtr> places_;  // by the group's name
  std::set<uint64_t> retired_;
  int steps_left_ = 0;  // until the process dies; 0: it does not
  std::function<void()> death_;
};

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_WORLD_NODE_MEMBER_H_
