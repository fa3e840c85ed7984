#ifndef MUSTER_SERVER_JOURNAL_JOURNAL_TIMELINE_H_
#define MUSTER_SERVER_JOURNAL_JOURNAL_TIMELINE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "server/journal/story.h"

namespace muster::journal {

// A line of the timeline.
struct TimelineEntry {
  core::Time at;
  core::Time until;    // the last of what happened more than once; else `at`
  uint64_t count = 1;  // how often it happened
  std::string kind;    // "daemon", "attach", "collective", "call", "log", "error", "end", ...
  std::string text;
};

// Tells a job as a story. What happens again and again, with other numbers in its name, is told
// once, with a count: when something of another kind has happened, or at the end.
class Timeline final : public Listener {
 public:
  explicit Timeline(std::function<void(const TimelineEntry&)> tell) : tell_(std::move(tell)) {}

  // Tells what is held back.
  void Finish();

  void OnDaemon(core::Time now, const core::Options& options) override;
  void OnCheckpoint(core::Time now, const core::Options& options) override;
  void OnEnd(core::Time now, const End& end) override;
  void OnAttached(core::Time now, const Actor& actor) override;
  void OnDetached(core::Time now, const Actor& actor) override;
  void OnCall(const ToldCall& call) override;
  void OnCallEnd(core::Time now, const ToldCall& call, const absl::Status& status) override;
  void OnCompleted(core::Time now, const ToldCall& collective, size_t ranks) override;
  void OnBroken(core::Time, const Actor&, const core::EpochBroken&) override {}
  void OnLog(core::Time now, const core::LogLine& line) override;

 private:
  // Something that will be told with others like it, which `many` names.
  void Hold(core::Time now, const std::string& kind, const std::string& many, std::string one);
  void TellNow(core::Time now, const std::string& kind, std::string text);

  const std::function<void(const TimelineEntry&)> tell_;
  struct Held {
    TimelineEntry entry;
    std::string many;
    size_t order = 0;  // in which those that are held back have begun
  };
  std::map<std::string, Held> held_;  // by `many`
  bool recording_ = false;            // a daemon has begun, and not ended
  bool has_begun_ = false;            // something has been told
};

}  // namespace muster::journal

#endif  // MUSTER_SERVER_JOURNAL_JOURNAL_TIMELINE_H_
