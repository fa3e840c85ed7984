#include "server/journal/narration/journal_timeline.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/names/operation_names.h"

namespace muster::journal {
namespace {

// The most bytes of an error in the timeline.
constexpr size_t kMaxErrorBytes = 300;

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

void JournalTimeline::Hold(core::Time now, const std::string& kind, const std::string& grouped_text,
                           std::string single_text) {
  const auto [held, is_new] = held_.try_emplace(grouped_text);
  JournalTimelineEntry& entry = held->second.entry;
  if (is_new) {
    held->second.grouped_text = grouped_text;
    held->second.order = held_.size();
    entry = {now, now, 0, kind, std::move(single_text)};
  }
  entry.until = now;
  ++entry.count;
}

void JournalTimeline::Finish() {
  std::vector<Held> all;
  for (auto& [grouped_text, held] : held_) all.push_back(std::move(held));
  held_.clear();
  // In the order in which they began: at equal times a call comes before its answer.
  std::sort(all.begin(), all.end(), [](const Held& a, const Held& b) { return a.order < b.order; });
  for (Held& held : all) {
    if (held.entry.count > 1) held.entry.text = std::move(held.grouped_text);
    emit_(held.entry);
  }
}

void JournalTimeline::EmitNow(core::Time now, const std::string& kind, std::string text) {
  Finish();
  emit_({now, now, 1, kind, std::move(text)});
}

void JournalTimeline::OnDaemonStart(core::Time now, const core::Options& options) {
  std::string text =
      absl::StrCat("musterd ", options.daemon_version, " starts, for job '", options.job_id, "'");
  if (options.world_size > 0) absl::StrAppend(&text, " of ", options.world_size, " members");
  if (recording_)
    absl::StrAppend(&text,
                    "; the previous daemon was killed (its last half second may be missing)");
  recording_ = has_emitted_ = true;
  EmitNow(now, "daemon", std::move(text));
}

void JournalTimeline::OnCheckpoint(core::Time now, const core::Options& options) {
  const absl::string_view missing =
      has_emitted_ ? "happened while nothing was recorded" : "was before";
  recording_ = has_emitted_ = true;
  EmitNow(now, "gap",
          absl::StrCat("job '", options.job_id, "' runs, under musterd ", options.daemon_version,
                       "; what ", missing, " is not in the journal"));
}

void JournalTimeline::OnEnd(core::Time now, const End& end) {
  recording_ = false;
  std::string text = absl::StrCat("the recording ends: ", end.reason());
  if (end.missing_steps() > 0) {
    absl::StrAppend(&text, "; ", end.missing_steps(), " steps are missing");
  }
  EmitNow(now, "end", std::move(text));
}

void JournalTimeline::OnAttached(core::Time now, const ReplayedMember& member) {
  Hold(now, "attach", "processes attach", absl::StrCat(member.ToString(), " attaches"));
}

void JournalTimeline::OnDetached(core::Time now, const ReplayedMember& member) {
  Hold(now, "detach", "connections of processes end",
       absl::StrCat("the connection of ", member.ToString(), " ends"));
}

void JournalTimeline::OnCall(const ReplayedCall& call) {
  // Collectives are told when they complete. The daemon's log tells which processes ask for a
  // place.
  const bool reported_elsewhere = !call.group.empty() || call.kind == INPUT_KIND_JOIN ||
                                  call.kind == INPUT_KIND_REJOIN ||
                                  call.kind == INPUT_KIND_REQUEST_STOP;
  if (reported_elsewhere) return;
  Hold(call.since, "call", absl::StrCat("calls of ", call.pattern),
       absl::StrCat(call.member->ToString(), " calls ", call.operation));
}

void JournalTimeline::OnCallEnd(core::Time now, const ReplayedCall& call,
                                const absl::Status& status) {
  const bool is_acquire = call.kind == INPUT_KIND_ACQUIRE_LEASE;
  if (status.ok() && is_acquire) {
    Hold(now, "lease", absl::StrCat("answers to ", call.pattern),
         absl::StrCat(call.operation, " of ", call.member->ToString(), " is answered"));
  }
  if (status.ok()) return;
  const std::string code = absl::StatusCodeToString(status.code());
  Hold(now, "failure", absl::StrCat("calls of ", call.pattern, " end with ", code),
       absl::StrCat(call.operation, " of ", call.member->ToString(), " ends with ", code, ": ",
                    status.message().substr(0, kMaxErrorBytes)));
}

void JournalTimeline::OnCompleted(core::Time now, const ReplayedCall& collective, size_t ranks) {
  Hold(now, "collective", absl::StrCat(collective.pattern, " of ", collective.group, " completes"),
       absl::StrCat(DescribeStep(collective.operation, collective.sequence, collective.group),
                    " completes"));
}

void JournalTimeline::OnLog(core::Time now, const core::LogLine& line) {
  if (line.severity == core::Severity::kDebug) return;
  EmitNow(now, KindOf(line.severity), line.text);
}

}  // namespace muster::journal
