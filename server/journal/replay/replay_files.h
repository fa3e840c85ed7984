#ifndef MUSTER_SERVER_JOURNAL_REPLAY_REPLAY_FILES_H_
#define MUSTER_SERVER_JOURNAL_REPLAY_REPLAY_FILES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "muster/v1/coordinator.pb.h"
#include "server/core/api/basic_types.h"
#include "server/journal/replay/replayer.h"

namespace muster::journal {

// The end of a replay: a time, or a duration after the first record. The earlier one counts.
struct ReplayLimit {
  core::Time time = absl::InfiniteFuture();
  absl::Duration elapsed = absl::InfiniteDuration();
};

struct ReplayResult {
  absl::Status status;              // errors of Reader::Open() and Replayer::Feed()
  std::vector<std::string> notes;   // what is wrong with the journal, for people
  bool damaged = false;             // a part could not be read; a note says where
  std::optional<core::Time> first;  // when the journal begins; unset if it is empty
  core::Time time;                  // the limit, or the last record if that is earlier
};

// Replays all segments of the journal at `path`, up to the limit. A daemon may be writing the
// journal; segments that it begins after this call are not replayed.
ReplayResult ReplayFiles(const std::string& path, const ReplayLimit& limit, Replayer* replayer);

// Returns the time as all texts about a journal write it: "2026-11-22T20:15:00.250Z".
std::string FormatUtc(core::Time time);

// Returns the answer that GetStatus would have given at that time. The replayer must have a core.
v1::GetStatusResponse StatusAt(const Replayer& replayer, core::Time time);

}  // namespace muster::journal

#endif  // MUSTER_SERVER_JOURNAL_REPLAY_REPLAY_FILES_H_
