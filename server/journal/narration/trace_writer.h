#ifndef MUSTER_SERVER_JOURNAL_NARRATION_TRACE_WRITER_H_
#define MUSTER_SERVER_JOURNAL_NARRATION_TRACE_WRITER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <string>

#include "nlohmann/json_fwd.hpp"
#include "server/journal/narration/journal_narrator.h"

namespace muster::journal {

// A writer of a job's trace for Perfetto and chrome://tracing (the "Trace Event Format"). The trace
// has a process for each node, a track for each rank, and a slice for each call, named by the
// operation. Instants show the daemon's log. Arrows lead from a loss to the processes that were
// told of it.
class TraceWriter final : public NarrationListener {
 public:
  // Begins the file. `out` must outlive the object.
  explicit TraceWriter(std::ostream* out);
  // Ends the file. `members` are all processes of the journal.
  void Finish(const std::vector<std::unique_ptr<ReplayedMember>>& members);

  void OnDaemonStart(core::Time now, const core::Options& options) override;
  void OnCheckpoint(core::Time, const core::Options&) override {}
  void OnEnd(core::Time now, const End& end) override;
  void OnAttached(core::Time now, const ReplayedMember& member) override;
  void OnDetached(core::Time now, const ReplayedMember& member) override;
  void OnCall(const ReplayedCall& call) override;
  void OnCallEnd(core::Time now, const ReplayedCall& call, const absl::Status& status) override;
  void OnCompleted(core::Time, const ReplayedCall&, size_t) override {}
  void OnEpochBroken(core::Time now, const ReplayedMember& member,
                     const core::EpochBroken& broken) override;
  void OnLog(core::Time now, const core::LogLine& line) override;

 private:
  // The place of a slice. Calls of one process that overlap are on tracks side by side.
  struct Track {
    int process;
    int thread;
  };
  // The coordinator's own track. The nodes' processes have higher numbers.
  static constexpr Track kMusterd = {1, 1};

  Track TrackOf(const ReplayedMember& member, int lane = 0);
  double Micros(core::Time time);
  void Write(const nlohmann::json& event);
  void WriteInstant(core::Time now, const std::string& name, const Track& track);
  void WriteArrowSlice(double micros, const std::string& name, const Track& track);
  void WriteArrowEnd(double micros, const Track& track, const std::string& phase);
  double WriteLoss(core::Time now, const core::Failure& failure, const Track& track);
  void WriteName(const std::string& what, const Track& track, const std::string& name,
                 int64_t order);

  std::ostream* const out_;
  bool empty_ = true;
  std::optional<core::Time> begin_;
  std::map<std::string, int> processes_;        // by node
  std::map<int, std::set<int>> busy_;           // lanes in use, by member
  std::map<uint64_t, int> lanes_;               // by id of a call that waits
  std::map<int, int> max_lane_;                 // highest lane used, by member
  std::map<core::Incarnation, Track> tracks_;   // first lane, by process
  std::map<core::Incarnation, double> losses_;  // when each process was lost, in microseconds
  uint64_t arrows_ = 0;
};

}  // namespace muster::journal

#endif  // MUSTER_SERVER_JOURNAL_NARRATION_TRACE_WRITER_H_
