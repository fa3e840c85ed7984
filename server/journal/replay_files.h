#ifndef MUSTER_SERVER_JOURNAL_REPLAY_FILES_H_
#define MUSTER_SERVER_JOURNAL_REPLAY_FILES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "muster/v1/coordinator.pb.h"
#include "server/core/vocabulary.h"
#include "server/journal/replayer.h"

namespace muster::journal {

// Where a replay was to end: a time, or so long after the first record.
struct ReplayLimit {
  core::Time time = absl::InfiniteFuture();
  absl::Duration elapsed = absl::InfiniteDuration();
};

struct ReplayEnd {
  absl::Status status;              // as of Reader::Open() and Replayer::Feed()
  std::vector<std::string> notes;   // what is odd about the journal, for people
  bool damaged = false;             // what could not be read is missing; a note tells where
  std::optional<core::Time> first;  // when the journal begins; it may hold nothing
  core::Time time;                  // of the limit, or of the last record if that was before
};

// Replays all segments of the journal at `path`, up to the limit. A daemon may be writing it: what
// it begins later than this call is not replayed.
ReplayEnd ReplayFiles(const std::string& path, const ReplayLimit& limit, Replayer* replayer);

// "2026-11-22T20:15:00.250Z": as all that is told of a journal writes times.
std::string FormatUtc(core::Time time);

// What GetStatus would have answered then. The replayer must have a core.
v1::GetStatusResponse StatusAt(const Replayer& replayer, core::Time time);

}  // namespace muster::journal

#endif  // MUSTER_SERVER_JOURNAL_REPLAY_FILES_H_
