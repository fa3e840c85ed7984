#ifndef MUSTER_TESTS_SIMULATION_SIMULATED_DAEMON_H_
#define MUSTER_TESTS_SIMULATION_SIMULATED_DAEMON_H_

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/src/protocol/requests.h"
#include "server/core/coordinator.h"
#include "tests/server/journal/tape.h"
#include "tests/simulation/answer_conversion.h"
#include "tests/simulation/stage.h"

namespace muster::simulation {

using DaemonId = int;

// One run of musterd: its core behind the service's conversions, driven by simulated time. What
// server/service does with reactors and threads, this does with ids.
class Daemon {
 public:
  // Where answers go. Each id that was started ends with exactly one Reply (End), unless it is
  // cancelled (closed) first.
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual void Reply(core::WaiterId waiter, absl::Status status, internal::Response response) = 0;
    virtual void Event(core::WaiterId stream, v1::AttachResponse response) = 0;
    virtual void End(core::WaiterId stream, absl::Status status) = 0;
  };

  // `wall_clock` is what its clock shows at the beginning of the simulation. `stage` and `sink`
  // must outlive this.
  Daemon(DaemonId id, core::Options options, absl::Time wall_clock, Stage* stage, Sink* sink);
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  void Attach(core::WaiterId stream, const v1::AttachRequest& request);
  void Call(core::WaiterId waiter, const internal::Request& request);
  // The peer has gone. Unknown ids are ignored.
  void Cancel(core::WaiterId waiter);
  void CloseStream(core::WaiterId stream);
  void ReportExit(const v1::ReportExitRequest& report);
  void ReportProcessState(const v1::ReportProcessStateRequest& report);
  // Somebody who is no member sends something; `choice` decides what. Nothing may come of it.
  void Suffer(uint64_t choice);

  // The process is gone: nothing happens in it any more.
  void Kill() { alive_ = false; }
  bool alive() const { return alive_; }
  // The process is stopped for a while. What reaches it must wait until then.
  void PauseUntil(absl::Duration time) { paused_until_ = std::max(paused_until_, time); }
  absl::Duration paused_until() const { return paused_until_; }

  // Replays what has gone into it; a core that comes to something else breaks an invariant.
  void CheckReplay();

  // Calls that are parked, and streams that are open.
  size_t open() const { return calls_.size() + streams_.size(); }

 private:
  // The one way into the core: what goes in is recorded.
  core::Effects Put(core::WaiterId id, const core::Input& input,
                    const journal::KeptRequest* kept = nullptr);
  template <typename Request>
  core::Effects PutRequest(core::WaiterId id, const Request& request);
  void Tick();
  // A report of a launcher, to whose answer nobody listens.
  template <typename Request>
  void Report(const Request& request);
  // As many processes have come, or are said to run, as the job has places.
  bool AllPlacesAreTaken() const;
  void ReportAsStranger(const v1::ReportExitRequest& report);
  void AttachStranger(const v1::AttachRequest& request);
  void CallAsStranger(const internal::Request& request);
  void Apply(const core::Effects& effects);
  void Deliver(const core::Reply& reply);
  void Deliver(const core::StreamEvent& event);
  void Deliver(const core::StreamEnd& end);
  void CheckText(absl::string_view text);
  void CheckReforming();
  void Arm();
  void Ring(core::Time due);
  // As the daemon's clock has it: no finer than a journal keeps it.
  core::Time Now() const { return wall_clock_ + absl::Floor(stage_->now(), absl::Nanoseconds(1)); }

  const DaemonId id_;
  const absl::Time wall_clock_;
  Stage* const stage_;
  Sink* const sink_;
  journal::Tape tape_;
  core::Coordinator core_;
  bool alive_ = true;
  absl::Duration paused_until_;
  core::Time armed_ = absl::InfiniteFuture();
  std::optional<core::Time> reforming_since_;
  std::optional<core::EpochId> reforming_;  // the epoch that has ended
  std::map<core::WaiterId, AnswerConversion> calls_;
  std::map<core::WaiterId, bool> streams_;  // whether Attach was answered
  core::WaiterId next_report_ = core::WaiterId{1} << 52;
  core::WaiterId strangers_call_ = 0;
  std::set<std::string> started_;  // processes that launchers say run, and that have not come yet
  std::set<std::string> came_;     // processes that have attached here
  bool is_misled_ = false;         // a stranger reports something
};

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_SIMULATED_DAEMON_H_
