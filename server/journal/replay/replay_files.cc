#include "server/journal/replay/replay_files.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "server/journal/replay/reader.h"
#include "server/service/conversion/response_conversion.h"
#include "server/service/conversion/response_writer.h"

namespace muster::journal {
namespace {

core::Time LimitOf(const ReplayLimit& limit, core::Time first) {
  return std::min(limit.time, first + limit.elapsed);
}

// Adds notes about the journal as a whole.
void AddNotes(const ReplayLimit& limit, const Replayer& replayer, ReplayResult* end) {
  const auto note = [end](auto... parts) { end->notes.push_back(absl::StrCat(parts...)); };
  if (end->status.ok() && !end->first && end->notes.empty()) note("the journal holds nothing yet");
  const core::Time wanted = end->first ? LimitOf(limit, *end->first) : absl::InfiniteFuture();
  if (end->status.ok() && wanted < absl::InfiniteFuture() && end->time < wanted) {
    note("the journal ends before that time, at ", FormatUtc(end->time));
  }
  if (replayer.missing_steps() > 0) {
    note(replayer.missing_steps(), " steps are missing where the recording stopped and went on");
  }
  if (replayer.diverged_steps() > 0) {
    note(replayer.diverged_steps(),
         " steps got other answers from the daemon: the journal does not hold everything from "
         "before its oldest segment");
  }
}

// A replay of the files, one after the other.
class FileReplay {
 public:
  FileReplay(const ReplayLimit& limit, Replayer* replayer, ReplayResult* end)
      : limit_(limit), replayer_(*replayer), end_(*end) {}

  // Replays one file. Returns false if the replay ends with it.
  bool Read(const absl::StatusOr<std::unique_ptr<Reader>>& reader) {
    if (!reader.ok()) return Fail(reader.status());
    while (const std::optional<Record> record = (*reader)->Next()) {
      if (!Take(*record)) return false;
    }
    if ((*reader)->ending().empty()) return true;
    end_.notes.push_back((*reader)->ending());
    end_.damaged = end_.damaged || (*reader)->damaged();
    return true;
  }

 private:
  bool Fail(const absl::Status& status) {
    end_.status = status;
    return false;
  }

  bool Take(const Record& record) {
    const core::Time time = replayer_.TimeOf(record);
    const bool has_time = !record.has_header() && !record.has_end();
    if (has_time && !end_.first) end_.first = time;
    if (has_time && time > Limit()) {
      end_.time = Limit();
      return false;
    }
    if (absl::Status s = replayer_.Feed(record); !s.ok()) return Fail(s);
    end_.time = replayer_.now();
    return true;
  }

  core::Time Limit() const { return LimitOf(limit_, *end_.first); }

  const ReplayLimit limit_;
  Replayer& replayer_;
  ReplayResult& end_;
};

}  // namespace

ReplayResult ReplayFiles(const std::string& path, const ReplayLimit& limit, Replayer* replayer) {
  ReplayResult end;
  FileReplay replay(limit, replayer, &end);
  for (const auto& segment : OpenSegments(path)) {
    if (!replay.Read(segment)) break;
  }
  AddNotes(limit, *replayer, &end);
  return end;
}

std::string FormatUtc(core::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

v1::GetStatusResponse StatusAt(const Replayer& replayer, core::Time time) {
  const core::Coordinator& core = *replayer.core();
  v1::GetStatusResponse response;
  response.set_job_id(core.options().job_id);
  response.set_daemon_version(core.options().daemon_version);
  service::ToProto(core.GetStatus(time), time, &response);
  service::ToProto(time - replayer.started(), response.mutable_uptime());
  return response;
}

}  // namespace muster::journal
