#ifndef MUSTER_SERVER_CORE_STATISTICS_TIMELINE_H_
#define MUSTER_SERVER_CORE_STATISTICS_TIMELINE_H_

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/core/api/effects.h"

namespace muster::core {

// An event of the job, in the words of the log.
struct TimelineEntry {
  Time when;  // of several: the latest
  Severity severity = Severity::kInfo;
  std::string text;
};

// The latest events of the job. The memory is bounded, however many there are.
class Timeline {
 public:
  static constexpr size_t kMaxEntries = 256;
  static constexpr size_t kMaxTextBytes = 1024;
  // The kind of events that may repeat for as long as a network is bad. At most eight entries of it
  // are kept. An entry that repeats an earlier one word for word replaces it.
  static constexpr absl::string_view kAttachedAgain = "attached again";

  // Adds an event. If every member of a large job may report it, pass a `kind`, which must outlive
  // this object. If many events of one kind follow each other closely, only the first few stay. The
  // latest event, with a count, replaces the one before it. Debug messages are left out.
  void Add(Time now, Severity severity, absl::string_view text, absl::string_view kind = "");

  // Returns the entries, the oldest first.
  std::vector<TimelineEntry> Entries() const;

 private:
  struct Kept {
    TimelineEntry entry;
    absl::string_view kind;
    size_t count = 1;
  };
  bool FollowsMany(Time now, absl::string_view kind) const;
  // Returns the entry that such an event replaces, or end() if there is none.
  std::deque<Kept>::iterator FindReplaced(Time now, absl::string_view text, absl::string_view kind);

  std::deque<Kept> kept_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_STATISTICS_TIMELINE_H_
