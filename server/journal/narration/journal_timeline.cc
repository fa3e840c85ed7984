#include "server/journal/narration/journal_timeline.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/operation_words.h"

namespace muster::journal {
namespace {

// The most bytes of an error in the timeline.
constexpr size_t kMostErrorBytes = 300;

const char* KindOf(core::Severity severity) {
  switch (severity) {
    case core::Severity::kWarning:
      return "warning";
    case core::Severity::kError:
      return "error";
    default:
      return "log";
  }
}

}  // namespace

void Timeline::Hold(core::Time now, const std::string& kind, const std::string& many,
                    std::string one) {
  const auto [held, is_new] = held_.try_emplace(many);
  TimelineEntry& entry = held->second.entry;
  if (is_new) {
    held->second.many = many;
    held->second.order = held_.size();
    entry = {now, now, 0, kind, std::move(one)};
  }
  entry.until = now;
  ++entry.count;
}

void Timeline::Finish() {
  std::vector<Held> all;
  for (auto& [many, held] : held_) all.push_back(std::move(held));
  held_.clear();
  // In the order in which they began: at equal times a call comes before its answer.
  std::sort(all.begin(), all.end(), [](const Held& a, const Held& b) { return a.order < b.order; });
  for (Held& held : all) {
    if (held.entry.count > 1) held.entry.text = std::move(held.many);
    tell_(held.entry);
  }
}

void Timeline::TellNow(core::Time now, const std::string& kind, std::string text) {
  Finish();
  tell_({now, now, 1, kind, std::move(text)});
}

void Timeline::OnDaemon(core::Time now, const core::Options& options) {
  std::string text =
      absl::StrCat("musterd ", options.daemon_version, " starts, for job '", options.job_id, "'");
  if (options.world_size > 0) absl::StrAppend(&text, " of ", options.world_size, " members");
  if (recording_)
    absl::StrAppend(&text, "; the one before was killed (half a second of it may be missing)");
  recording_ = has_begun_ = true;
  TellNow(now, "daemon", std::move(text));
}

void Timeline::OnCheckpoint(core::Time now, const core::Options& options) {
  const absl::string_view missing =
      has_begun_ ? "happened while nothing was recorded" : "was before";
  recording_ = has_begun_ = true;
  TellNow(now, "gap",
          absl::StrCat("job '", options.job_id, "' runs, under musterd ", options.daemon_version,
                       "; what ", missing, " is not in the journal"));
}

void Timeline::OnEnd(core::Time now, const End& end) {
  recording_ = false;
  std::string text = absl::StrCat("the recording ends: ", end.reason());
  if (end.missing_steps() > 0) {
    absl::StrAppend(&text, "; ", end.missing_steps(), " steps are missing");
  }
  TellNow(now, "end", std::move(text));
}

void Timeline::OnAttached(core::Time now, const Actor& actor) {
  Hold(now, "attach", "processes attach", absl::StrCat(actor.ToString(), " attaches"));
}

void Timeline::OnDetached(core::Time now, const Actor& actor) {
  Hold(now, "detach", "connections of processes end",
       absl::StrCat("the connection of ", actor.ToString(), " ends"));
}

void Timeline::OnCall(const ToldCall& call) {
  // Collectives are told when they complete. The daemon's log tells which processes ask for a
  // place.
  const bool told = !call.group.empty() || call.kind == INPUT_KIND_JOIN ||
                    call.kind == INPUT_KIND_REJOIN || call.kind == INPUT_KIND_REQUEST_STOP;
  if (told) return;
  Hold(call.since, "call", absl::StrCat("calls of ", call.alike),
       absl::StrCat(call.actor->ToString(), " calls ", call.operation));
}

void Timeline::OnCallEnd(core::Time now, const ToldCall& call, const absl::Status& status) {
  const bool is_acquire = call.kind == INPUT_KIND_ACQUIRE_LEASE;
  if (status.ok() && is_acquire) {
    Hold(now, "lease", absl::StrCat("answers to ", call.alike),
         absl::StrCat(call.operation, " of ", call.actor->ToString(), " is answered"));
  }
  if (status.ok()) return;
  const std::string code = absl::StatusCodeToString(status.code());
  Hold(now, "failure", absl::StrCat("calls of ", call.alike, " end with ", code),
       absl::StrCat(call.operation, " of ", call.actor->ToString(), " ends with ", code, ": ",
                    status.message().substr(0, kMostErrorBytes)));
}

void Timeline::OnCompleted(core::Time now, const ToldCall& collective, size_t ranks) {
  Hold(now, "collective", absl::StrCat(collective.alike, " of ", collective.group, " completes"),
       absl::StrCat(DescribeStep(collective.operation, collective.sequence, collective.group),
                    " completes"));
}

void Timeline::OnLog(core::Time now, const core::LogLine& line) {
  if (line.severity == core::Severity::kDebug) return;
  TellNow(now, KindOf(line.severity), line.text);
}

}  // namespace muster::journal
