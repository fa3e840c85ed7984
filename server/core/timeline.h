#ifndef MUSTER_SERVER_CORE_TIMELINE_H_
#define MUSTER_SERVER_CORE_TIMELINE_H_

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/core/effects.h"

namespace muster::core {

// Something that happened, in the words of the log.
struct TimelineEntry {
  Time when;  // of several: the latest
  Severity severity = Severity::kInfo;
  std::string text;
};

// The latest things that happened to the job: memory is bounded, however much there is to tell.
class Timeline {
 public:
  static constexpr size_t kMaxEntries = 256;
  static constexpr size_t kMaxTextBytes = 1024;
  // A kind that may come again and again for as long as a network is bad. At most eight entries of
  // it are kept, and one that repeats an entry word for word takes its place.
  static constexpr absl::string_view kAttachedAgain = "attached again";

  // What each member of a large job may say has a `kind`, which must live as long as this does: of
  // many that follow each other closely some are kept, the latest, and how many there were. What is
  // for debugging is left out.
  void Add(Time now, Severity severity, absl::string_view text, absl::string_view kind = "");

  // The oldest first.
  std::vector<TimelineEntry> Entries() const;

 private:
  struct Kept {
    TimelineEntry entry;
    absl::string_view kind;
    size_t count = 1;
  };
  bool FollowsMany(Time now, absl::string_view kind) const;
  // The entry that one like this takes the place of; end: none.
  std::deque<Kept>::iterator FindReplaced(Time now, absl::string_view text, absl::string_view kind);

  std::deque<Kept> kept_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_TIMELINE_H_
