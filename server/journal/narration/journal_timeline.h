#ifndef MUSTER_SERVER_JOURNAL_NARRATION_JOURNAL_TIMELINE_H_
#define MUSTER_SERVER_JOURNAL_NARRATION_JOURNAL_TIMELINE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "server/journal/narration/journal_narrator.h"

namespace muster::journal {

// A line of the timeline.
struct JournalTimelineEntry {
  core::Time at;
  core::Time until;    // when it happened last; `at` if it happened once
  uint64_t count = 1;  // how often it happened
  std::string kind;    // "daemon", "attach", "collective", "call", "log", "error", "end", ...
  std::string text;
};

// A timeline of a job, for people. Repeated events that differ only in the numbers in their names
// are held back and become one line with a count. The line is told when an event of another kind
// happens, or at the end.
class JournalTimeline final : public NarrationListener {
 public:
  explicit JournalTimeline(std::function<void(const JournalTimelineEntry&)> emit)
      : emit_(std::move(emit)) {}

  // Tells the lines that are held back.
  void Finish();

  void OnDaemonStart(core::Time now, const core::Options& options) override;
  void OnCheckpoint(core::Time now, const core::Options& options) override;
  void OnEnd(core::Time now, const End& end) override;
  void OnAttached(core::Time now, const ReplayedMember& member) override;
  void OnDetached(core::Time now, const ReplayedMember& member) override;
  void OnCall(const ReplayedCall& call) override;
  void OnCallEnd(core::Time now, const ReplayedCall& call, const absl::Status& status) override;
  void OnCompleted(core::Time now, const ReplayedCall& collective, size_t ranks) override;
  void OnEpochBroken(core::Time, const ReplayedMember&, const core::EpochBroken&) override {}
  void OnLog(core::Time now, const core::LogLine& line) override;

 private:
  // Holds an event back. If more events with the same `grouped_text` follow, they become one line
  // with that text; otherwise the line is `single_text`.
  void Hold(core::Time now, const std::string& kind, const std::string& grouped_text,
            std::string single_text);
  void EmitNow(core::Time now, const std::string& kind, std::string text);

  const std::function<void(const JournalTimelineEntry&)> emit_;
  struct Held {
    JournalTimelineEntry entry;
    std::string grouped_text;
    size_t order = 0;  // position among the held entries
  };
  std::map<std::string, Held> held_;  // by `grouped_text`
  bool recording_ = false;            // a daemon has started, and its recording has not ended
  bool has_emitted_ = false;          // a line was told
};

}  // namespace muster::journal

#endif  // MUSTER_SERVER_JOURNAL_NARRATION_JOURNAL_TIMELINE_H_
