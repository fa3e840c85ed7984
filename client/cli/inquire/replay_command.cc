#include "client/cli/inquire/replay_command.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/cli/inquire/message.h"
#include "client/cli/inquire/status_report.h"
#include "client/cli/text/terminal_width.h"
#include "common/process/exit_codes.h"
#include "common/text/utf8.h"
#include "nlohmann/json.hpp"
#include "server/journal/narration/journal_narrator.h"
#include "server/journal/narration/journal_timeline.h"
#include "server/journal/narration/trace_writer.h"
#include "server/journal/replay/reader.h"
#include "server/journal/replay/replay_files.h"
#include "server/journal/replay/replayer.h"

namespace muster::cli {
namespace {

using journal::ReplayLimit;
using journal::ReplayResult;
using nlohmann::json;

// Parses "end", "+1m30s" or "2026-11-22T20:15:00Z".
absl::StatusOr<ReplayLimit> ParseLimit(const std::string& text) {
  ReplayLimit limit;
  if (text == "end") return limit;
  if (absl::StartsWith(text, "+") && absl::ParseDuration(text.substr(1), &limit.elapsed) &&
      limit.elapsed >= absl::ZeroDuration()) {
    return limit;
  }
  std::string ignored;
  if (absl::ParseTime(absl::RFC3339_full, text, &limit.time, &ignored)) return limit;
  return absl::InvalidArgumentError(
      absl::StrCat("--at is '", text, "'; expected end, a duration since the beginning such as ",
                   "+1m30s, or a time such as 2026-11-22T20:15:00Z"));
}

// Prints notes about mismatches and how the replay ended. Returns the exit status.
int Conclude(const ReplayResult& end) {
  for (const std::string& note : end.notes) std::cerr << absl::StrCat("muster: note: ", note, "\n");
  if (end.status.ok()) return end.damaged ? exit_codes::kFailed : 0;
  const bool no_journal = absl::IsFailedPrecondition(end.status) || absl::IsNotFound(end.status);
  return Fail(no_journal ? exit_codes::kBadConfiguration : exit_codes::kFailed,
              end.status.message());
}

// Returns "4,000".
std::string WithCommas(uint64_t number) {
  std::string text = absl::StrCat(number);
  for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) text.insert(at, ",");
  return text;
}

// Prints entries as they come, with times relative to the first one.
class TimelinePrinter {
 public:
  void PrintLine(const journal::JournalTimelineEntry& entry) {
    if (!first_) std::cout << journal::FormatUtc(entry.at) << "\n";
    if (!first_) first_ = entry.at;
    std::string times;
    if (entry.count > 1) times = absl::StrCat(", ", WithCommas(entry.count), " times");
    if (entry.until - entry.at >= absl::Milliseconds(1)) {
      absl::StrAppend(&times, " in ", BriefDuration(entry.until - entry.at));
    }
    std::cout << absl::StrFormat("%12s  %s%s\n", SinceBegin(entry.at),
                                 ReplaceUnprintable(entry.text), times);
  }

  void PrintJson(const journal::JournalTimelineEntry& entry) {
    if (!first_) first_ = entry.at;
    json line = {{"time", journal::FormatUtc(entry.at)},
                 {"seconds", absl::ToDoubleSeconds(entry.at - *first_)},
                 {"kind", entry.kind},
                 {"text", entry.text}};
    if (entry.count > 1) {
      line["count"] = entry.count;
      line["until_seconds"] = absl::ToDoubleSeconds(entry.until - *first_);
    }
    std::cout << line.dump(-1, ' ', false, json::error_handler_t::replace) << "\n";
  }

 private:
  std::string SinceBegin(absl::Time time) const {
    return absl::StrFormat("+%.3fs", absl::ToDoubleSeconds(time - *first_));
  }

  std::optional<absl::Time> first_;
};

int PrintTimeline(const ReplayFlags& flags) {
  TimelinePrinter printer;
  journal::JournalTimeline timeline([&](const journal::JournalTimelineEntry& entry) {
    flags.json ? printer.PrintJson(entry) : printer.PrintLine(entry);
  });
  journal::JournalNarrator narrator(&timeline);
  journal::Replayer replayer(&narrator);
  const ReplayResult end = journal::ReplayFiles(flags.journal, {}, &replayer);
  timeline.Finish();
  std::cout << std::flush;
  return Conclude(end);
}

class NoObserver final : public journal::ReplayObserver {
 public:
  void OnStart(absl::Time, const core::Options&) override {}
  void OnCheckpoint(absl::Time, const core::Options&, const core::Checkpoint&) override {}
  void OnStep(const journal::ReplayedStep&) override {}
  void OnEnd(absl::Time, const journal::End&) override {}
};

// Handles a time for which there is nothing to show.
int ConcludeEmpty(const ReplayResult& end) {
  if (!end.status.ok()) return Conclude(end);
  if (!end.first) return Fail(exit_codes::kFailed, "the journal holds nothing yet");
  return Fail(exit_codes::kFailed,
              absl::StrCat("the journal has nothing of that time: it begins at ",
                           journal::FormatUtc(*end.first)));
}

// If the replay stops before the requested time, there is no status to show.
int PrintStatus(const ReplayFlags& flags, const ReplayLimit& limit) {
  NoObserver nothing;
  journal::Replayer replayer(&nothing);
  ReplayResult end = journal::ReplayFiles(flags.journal, limit, &replayer);
  if (!end.status.ok()) return Conclude(end);
  if (replayer.core() == nullptr) return ConcludeEmpty(end);
  const v1::GetStatusResponse status = journal::StatusAt(replayer, end.time);
  absl::StatusOr<std::string> text =
      flags.json ? StatusJson(status)
                 : absl::StatusOr<std::string>(StatusReport(status, TerminalWidth()));
  if (!text.ok()) return Fail(exit_codes::kFailed, text.status().message());
  std::cout << *text << std::flush;
  return Conclude(end);
}

// Opening the trace file truncates it. Therefore first checks that the journal exists, and that the
// trace is not one of its files.
absl::Status CheckTrace(const std::string& out, const std::string& journal) {
  const std::vector<std::string> segments = journal::SegmentsOf(journal);
  absl::Status readable = journal::Reader::Open(segments.front()).status();
  if (!readable.ok()) return readable;
  const bool is_journal = std::any_of(segments.begin(), segments.end(), [&](const auto& segment) {
    std::error_code ignored;
    return std::filesystem::equivalent(segment, out, ignored);
  });
  if (!is_journal) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--trace names the journal itself, ", out, "; name another file"));
}

int WriteTrace(const ReplayFlags& flags, const ReplayLimit& limit) {
  if (const absl::Status s = CheckTrace(*flags.trace, flags.journal); !s.ok()) {
    return Fail(exit_codes::kBadConfiguration, s.message());
  }
  std::ofstream file;
  const bool to_stdout = *flags.trace == "-";
  if (!to_stdout) file.open(*flags.trace, std::ios::binary);
  if (!file) {
    return Fail(exit_codes::kBadConfiguration,
                absl::StrCat("cannot write ", *flags.trace, ": ", strerror(errno)));
  }
  std::ostream& out = to_stdout ? std::cout : file;
  journal::TraceWriter trace(&out);
  journal::JournalNarrator narrator(&trace);
  journal::Replayer replayer(&narrator);
  const ReplayResult end = journal::ReplayFiles(flags.journal, limit, &replayer);
  narrator.Finish(end.time);
  trace.Finish(narrator.members());
  if (!to_stdout && !file.flush()) {
    return Fail(exit_codes::kFailed,
                absl::StrCat("cannot write ", *flags.trace, ": ", strerror(errno)));
  }
  return replayer.core() == nullptr ? ConcludeEmpty(end) : Conclude(end);
}

}  // namespace

int RunReplayCommand(const ReplayFlags& flags) {
  absl::StatusOr<ReplayLimit> limit = ReplayLimit();
  if (flags.at) limit = ParseLimit(*flags.at);
  if (!limit.ok()) return Fail(exit_codes::kBadConfiguration, limit.status().message());
  if (flags.trace && flags.json) {
    return Fail(exit_codes::kBadConfiguration, "--trace writes JSON of its own; leave --json out");
  }
  if (flags.trace) return WriteTrace(flags, *limit);
  return flags.at ? PrintStatus(flags, *limit) : PrintTimeline(flags);
}

}  // namespace muster::cli
