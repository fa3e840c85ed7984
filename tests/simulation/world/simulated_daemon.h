#ifndef MUSTER_TESTS_SIMULATION_WORLD_SIMULATED_DAEMON_H_
#define MUSTER_TESTS_SIMULATION_WORLD_SIMULATED_DAEMON_H_

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/src/protocol/messages/member_requests.h"
#include "server/core/coordinator.h"
#include "tests/server/journal/tape.h"
#include "tests/simulation/world/answer_conversion.h"
#include "tests/simulation/world/simulation_state.h"

namespace muster::simulation {

using DaemonId = int;

// One run of musterd: the core behind the service's conversions, on simulated time. The service
// uses reactors and threads where this class uses ids.
class Daemon {
 public:
  // The receiver of answers. Each call ends with exactly one Reply(), and each stream with exactly
  // one End(), unless Cancel() or CloseStream() comes first.
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual void Reply(core::WaiterId waiter, absl::Status status, internal::Response response) = 0;
    virtual void Event(core::WaiterId stream, v1::AttachResponse response) = 0;
    virtual void End(core::WaiterId stream, absl::Status status) = 0;
  };

  // The receiver of what the daemon sends on streams of the store, each of which ends with at most
  // one StoreEnd().
  class StoreSink {
   public:
    virtual ~StoreSink() = default;
    virtual void StoreMessage(core::WaiterId stream, v1::StoreResponse message) = 0;
    virtual void StoreEnd(core::WaiterId stream, absl::Status status) = 0;
  };

  // `wall_clock` is the time of the daemon's clock at the beginning of the simulation. The pointers
  // must outlive this.
  Daemon(DaemonId id, core::Options options, absl::Time wall_clock, SimulationState* simulation,
         Sink* sink, StoreSink* store_sink);
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // Pass a request to the core, as if it had just arrived. The sink gets the answer.
  void Attach(core::WaiterId stream, const v1::AttachRequest& request);
  void Call(core::WaiterId waiter, const internal::Request& request);
  // Ends a call or a stream whose peer has gone. Unknown ids are ignored.
  void Cancel(core::WaiterId waiter);
  void CloseStream(core::WaiterId stream);
  // Pass on what a client of the store sends on a stream, which begins with its first message: a
  // request; that it has left; that the stream has ended.
  void ReceiveStore(core::WaiterId stream, const v1::StoreRequest& request);
  void LeaveStore(core::WaiterId stream);
  void CloseStore(core::WaiterId stream);
  // Pass on a report from a launcher, whose answer is dropped.
  void ReportExit(const v1::ReportExitRequest& report);
  void ReportProcessState(const v1::ReportProcessStateRequest& report);
  // Sends the core a message from a process that is no member; `choice` decides which. Checks that
  // it changes nothing for the members.
  void ReceiveFromStranger(uint64_t choice);
  // Sends the core reports about processes that do not exist; `choice` decides which. Checks that
  // they change nothing for the members, except that they may end a job that is still forming.
  void ReceiveFromLyingLauncher(uint64_t choice);

  // Ends the process: no later event has an effect.
  void Kill() { alive_ = false; }
  bool alive() const { return alive_; }
  // Stops the process until `time`. The network delivers nothing to it before.
  void PauseUntil(absl::Duration time) { paused_until_ = std::max(paused_until_, time); }
  absl::Duration paused_until() const { return paused_until_; }

  // Replays the recorded inputs, and reports a violation if another core reaches another state.
  void CheckReplay();

  // Returns the number of parked calls and open streams.
  size_t open() const { return calls_.size() + streams_.size() + store_streams_.size(); }
  // Returns the epoch and how many groups are known in it, or nullopt before the first epoch.
  std::optional<std::pair<core::EpochId, size_t>> CountGroups() const;

 private:
  // Records an input and passes it to the core. All inputs go through here.
  core::Effects Put(core::WaiterId id, const core::Input& input,
                    const journal::KeptRequest* kept = nullptr);
  template <typename Request>
  core::Effects PutRequest(core::WaiterId id, const Request& request);
  void Tick();
  template <typename Request>
  void Report(const Request& request);
  // Returns whether the job has no free place: as many processes have attached, or are reported as
  // started, as there are places.
  bool AllPlacesAreTaken() const;
  // Calls `send` with the current status. Checks that what it sends changes nothing for the
  // members.
  void CheckIgnored(absl::FunctionRef<void(const core::JobStatus&)> send);
  void ReportAsStranger(const v1::ReportExitRequest& report);
  void AttachStranger(const v1::AttachRequest& request);
  void CallAsStranger(const internal::Request& request);
  void Apply(const core::Effects& effects);
  void Deliver(const core::Reply& reply);
  void Deliver(const core::StreamEvent& event);
  void Deliver(const core::StreamEnd& end);
  void Deliver(const core::StoreMessage& message);
  void CheckText(absl::string_view text);
  void CheckGivesUp(absl::string_view line);
  void CheckReforming();
  void Arm();
  void Ring(core::Time due);
  // Returns the daemon's clock, no finer than a journal records it.
  core::Time Now() const {
    return wall_clock_ + absl::Floor(simulation_->now(), absl::Nanoseconds(1));
  }

  const DaemonId id_;
  const absl::Time wall_clock_;
  SimulationState* const simulation_;
  Sink* const sink_;
  StoreSink* const store_sink_;
  journal::Tape tape_;
  core::Coordinator core_;
  bool alive_ = true;
  absl::Duration paused_until_;
  core::Time armed_ = absl::InfiniteFuture();
  std::optional<core::Time> reforming_since_;
  std::optional<core::EpochId> reforming_;  // the epoch that has ended
  std::map<core::WaiterId, AnswerConversion> calls_;
  std::map<core::WaiterId, bool> streams_;  // true: Attach was answered
  std::set<core::WaiterId> store_streams_;
  core::WaiterId next_report_ = core::WaiterId{1} << 52;
  core::WaiterId strangers_call_ = 0;
  std::set<std::string> started_;  // reported by launchers, not attached yet
  std::set<std::string> came_;     // processes that have attached here
  // True while the core gets a stranger's report upon which it must not give the job up.
  bool must_go_on_ = false;
  bool was_lied_to_ = false;  // a stranger has reported processes that do not exist
};

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_WORLD_SIMULATED_DAEMON_H_
