#include "tests/fuzz/fuzzed_journal.h"

#include <memory>
#include <optional>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "server/journal/narration/journal_narrator.h"
#include "server/journal/narration/journal_timeline.h"
#include "server/journal/narration/trace_writer.h"
#include "server/journal/records/encoder.h"
#include "server/journal/records/format.h"
#include "server/journal/replay/reader.h"
#include "server/journal/replay/replay_files.h"
#include "tests/fuzz/promises/promises.h"

namespace muster::fuzz {
namespace {

constexpr uint64_t kMaxPayloadBytes = 1 << 16;
constexpr absl::Duration kLater = absl::Hours(1);

// Replays the readable records, and checks the state that results.
void Replay(journal::Reader* reader, journal::Replayer* replayer) {
  while (const std::optional<journal::Record> record = reader->Next()) {
    const absl::Status fed = replayer->Feed(*record);
    if (fed.ok()) continue;
    CheckError(fed);
    break;
  }
  if (replayer->core() != nullptr) {
    CheckMessage(journal::StatusAt(*replayer, replayer->now() + kLater));
  }
}

std::unique_ptr<journal::Reader> Open(const std::string& file) {
  absl::StatusOr<std::unique_ptr<journal::Reader>> reader =
      journal::Reader::Open(std::make_unique<std::istringstream>(file), "a fuzzer's file");
  if (reader.ok()) return *std::move(reader);
  CheckError(reader.status());
  return nullptr;
}

}  // namespace

void ReadFuzzedJournal(const std::string& file) {
  const std::unique_ptr<journal::Reader> reader = Open(file);
  if (reader == nullptr) return;
  journal::JournalTimeline timeline([](const journal::JournalTimelineEntry& entry) {
    Check(entry.count >= 1 && entry.until >= entry.at && !entry.text.empty(),
          "a line of the timeline says something");
  });
  journal::JournalNarrator narrator(&timeline);
  journal::Replayer replayer(&narrator, kMaxPayloadBytes);
  Replay(reader.get(), &replayer);
  timeline.Finish();

  std::ostringstream out;
  journal::TraceWriter trace(&out);
  journal::JournalNarrator same_narrator(&trace);
  journal::Replayer again(&same_narrator, kMaxPayloadBytes);
  Replay(Open(file).get(), &again);
  same_narrator.Finish(again.now());
  trace.Finish(same_narrator.members());
  Check(nlohmann::json::accept(out.str()), "a trace is JSON");
  Check(again.steps() == replayer.steps(), "a replay comes to the same twice");
}

void ReadFuzzedBlock(const std::string& block) {
  journal::Record header;
  header.mutable_header()->set_format(journal::kFormat);
  std::string first;
  journal::Encoder::Append(header, &first);
  std::string file = absl::StrCat(journal::kMagic, journal::EncodeFrame(first), first);
  if (!block.empty()) absl::StrAppend(&file, journal::EncodeFrame(block), block);
  ReadFuzzedJournal(file);
}

}  // namespace muster::fuzz
