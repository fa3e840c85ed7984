#include "client/src/base/error_note.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/text/hex.h"
#include "common/text/number_ranges.h"

namespace muster::internal {
namespace {

constexpr char kPayload[] = "muster.error";

// The keys of the fields, in the order of the text. A field ends at a space, except the cause,
// which is last and may contain spaces.
constexpr absl::string_view kExit = "exit=";
constexpr absl::string_view kRank = "rank=";
constexpr absl::string_view kNode = "node=";
constexpr absl::string_view kPid = "pid=";
constexpr absl::string_view kMissing = "missing=";
constexpr absl::string_view kMayBeLostPeer = "lost-peer=maybe";
constexpr absl::string_view kCause = "cause=";

// Returns the text with '%', control characters and `separator` as "%25" and so on.
std::string Escape(absl::string_view text, char separator) {
  std::string escaped;
  for (const char c : text) {
    if (c == '%' || c == separator || absl::ascii_iscntrl(static_cast<unsigned char>(c))) {
      absl::StrAppend(&escaped, "%", absl::BytesToHexString(absl::string_view(&c, 1)));
    } else {
      escaped += c;
    }
  }
  return escaped;
}

// Undoes Escape(). The caller checks that Escape() has made the text.
std::string Unescape(absl::string_view escaped) {
  std::string text;
  for (size_t i = 0; i < escaped.size(); ++i) {
    if (escaped[i] == '%' && i + 2 < escaped.size()) {
      text += BytesOfHex(escaped.substr(i + 1, 2));
      i += 2;
    } else {
      text += escaped[i];
    }
  }
  return text;
}

// Takes the field off the beginning of `rest`, up to the next space, and returns its value.
std::optional<absl::string_view> Take(absl::string_view key, absl::string_view* rest) {
  if (!absl::ConsumePrefix(rest, key)) return std::nullopt;
  const absl::string_view value = rest->substr(0, rest->find(' '));
  rest->remove_prefix(value.size());
  absl::ConsumePrefix(rest, " ");
  return value;
}

template <class Number>
std::optional<Number> TakeNumber(absl::string_view key, absl::string_view* rest) {
  const std::optional<absl::string_view> text = Take(key, rest);
  Number number = 0;
  if (!text || !absl::SimpleAtoi(*text, &number)) return std::nullopt;
  return number;
}

}  // namespace

std::string EncodeNote(const ErrorNote& note) {
  const ErrorFacts& facts = note.facts;
  std::vector<std::string> fields;
  if (note.exit_code) fields.push_back(absl::StrCat(kExit, *note.exit_code));
  if (facts.rank) fields.push_back(absl::StrCat(kRank, *facts.rank));
  if (!facts.node.empty()) fields.push_back(absl::StrCat(kNode, Escape(facts.node, ' ')));
  if (facts.pid) fields.push_back(absl::StrCat(kPid, *facts.pid));
  if (!facts.missing_ranks.empty()) {
    fields.push_back(absl::StrCat(kMissing, NumberRanges(facts.missing_ranks)));
  }
  if (note.may_be_lost_peer) fields.emplace_back(kMayBeLostPeer);
  if (!facts.cause.empty()) fields.push_back(absl::StrCat(kCause, Escape(facts.cause, '%')));
  return absl::StrJoin(fields, " ");
}

ErrorNote DecodeNote(absl::string_view text) {
  absl::string_view rest = text;
  ErrorNote note;
  note.exit_code = TakeNumber<int>(kExit, &rest);
  note.facts.rank = TakeNumber<int>(kRank, &rest);
  note.facts.node = Unescape(Take(kNode, &rest).value_or(""));
  note.facts.pid = TakeNumber<int64_t>(kPid, &rest);
  note.facts.missing_ranks = ParseNumberRanges(Take(kMissing, &rest).value_or(""));
  note.may_be_lost_peer = Take(kMayBeLostPeer, &rest).has_value();
  if (absl::ConsumePrefix(&rest, kCause)) note.facts.cause = Unescape(rest);
  // Other text that these fields can be read from is no note: EncodeNote() has not made it.
  return EncodeNote(note) == text ? note : ErrorNote();
}

ErrorNote NoteOf(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kPayload);
  return payload ? DecodeNote(std::string(*payload)) : ErrorNote();
}

absl::Status WithNote(absl::Status status, const ErrorNote& note) {
  status.ErasePayload(kPayload);
  const std::string text = EncodeNote(note);
  if (!text.empty()) status.SetPayload(kPayload, absl::Cord(text));  // no effect on OK
  return status;
}

absl::Status WithExitCode(absl::Status status, int code) {
  ErrorNote note = NoteOf(status);
  if (note.exit_code) return status;
  note.exit_code = code;
  return WithNote(std::move(status), note);
}

absl::Status WithFacts(absl::Status status, const ErrorFacts& facts) {
  ErrorNote note = NoteOf(status);
  if (note.facts.rank || !note.facts.missing_ranks.empty()) return status;
  note.facts = facts;
  return WithNote(std::move(status), note);
}

absl::Status Reworded(const absl::Status& status, absl::string_view text) {
  return Reworded(status, status.code(), text);
}

absl::Status Reworded(const absl::Status& status, absl::StatusCode code, absl::string_view text) {
  absl::Status other(code, text);
  status.ForEachPayload([&other](absl::string_view type, const absl::Cord& payload) {
    other.SetPayload(type, payload);
  });
  return other;
}

std::string CodeAndText(const absl::Status& status) {
  return status.ToString(absl::StatusToStringMode::kWithNoExtraData);
}

}  // namespace muster::internal

namespace muster {

ErrorFacts FactsOf(const absl::Status& status) { return internal::NoteOf(status).facts; }

}  // namespace muster
