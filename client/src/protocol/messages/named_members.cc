#include "client/src/protocol/messages/named_members.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/src/base/error_note.h"
#include "common/text/number_ranges.h"

namespace muster::internal {
namespace {

constexpr absl::string_view kDigits = "0123456789";

// Returns the part of `text` behind `mark`, or nullopt if it is not there.
std::optional<absl::string_view> Behind(absl::string_view text, absl::string_view mark) {
  const size_t at = text.find(mark);
  if (at == absl::string_view::npos) return std::nullopt;
  return text.substr(at + mark.size());
}

// Takes a number off the beginning of `text`.
template <class Number>
std::optional<Number> TakeNumber(absl::string_view* text) {
  const absl::string_view digits = text->substr(0, text->find_first_not_of(kDigits));
  Number number = 0;
  if (!absl::SimpleAtoi(digits, &number)) return std::nullopt;
  text->remove_prefix(digits.size());
  return number;
}

// The members whose names may be in a text.
struct Roster {
  const v1::JoinResponse* place;  // null if it is unknown
  bool is_complete;               // no other process has a name

  bool HasRank(int rank) const { return !is_complete || rank < place->roster_size(); }
  // Returns whether the member is in the roster, and then puts the id of its node into it.
  bool Find(ErrorFacts* member) const {
    if (place == nullptr || *member->rank >= place->roster_size()) return false;
    const v1::MemberIdentity& known = place->roster(*member->rank).member();
    if (known.pid() != *member->pid) return false;
    member->node = known.node_id();
    return true;
  }
};

// The name of a member in a text, and the text behind it.
struct Name {
  ErrorFacts member;
  absl::string_view rest;
};

// Returns the id of a node for "node 'n1', host h", "node 'n1'" or "host h".
std::string NodeOf(absl::string_view place) {
  if (absl::ConsumePrefix(&place, "host ")) return std::string(place);
  absl::ConsumePrefix(&place, "node '");
  return std::string(place.substr(0, place.rfind('\'')));
}

// Reads the name that begins with its rank: "3 (node 'n1', host h, pid 77)".
std::optional<Name> ReadName(absl::string_view text, const Roster& roster) {
  Name name;
  name.member.rank = TakeNumber<int>(&text);
  const bool named = absl::StartsWith(text, " (node '") || absl::StartsWith(text, " (host ");
  if (!name.member.rank || !named) return std::nullopt;
  text.remove_prefix(2);
  const size_t end = text.find(", pid ");
  if (end == absl::string_view::npos) return std::nullopt;
  name.member.node = NodeOf(text.substr(0, end));
  text.remove_prefix(end + 6);
  name.member.pid = TakeNumber<int64_t>(&text);
  if (!name.member.pid || !absl::ConsumePrefix(&text, ")")) return std::nullopt;
  name.rest = text;
  if (!roster.Find(&name.member) && roster.is_complete) return std::nullopt;
  return name;
}

std::optional<Name> FirstName(absl::string_view text, const Roster& roster) {
  constexpr absl::string_view kRank = "rank ";
  for (auto rest = Behind(text, kRank); rest; rest = Behind(*rest, kRank)) {
    if (std::optional<Name> name = ReadName(*rest, roster)) return name;
  }
  return std::nullopt;
}

// Returns the ranks at the beginning of the text: "rank 3 (host ..." or "ranks 3,8-15; ...".
std::vector<int> RanksAt(absl::string_view text) {
  if (!absl::ConsumePrefix(&text, "ranks ") && !absl::ConsumePrefix(&text, "rank ")) return {};
  return ParseNumberRanges(text.substr(0, text.find_first_not_of("0123456789,-.")));
}

// Returns the ranks that a time-out has waited for.
std::vector<int> MissingRanks(absl::string_view text) {
  if (auto rest = Behind(text, "; missing ")) {  // "; missing 2 of 8: ranks 1,3; ..."
    const auto count = TakeNumber<int>(&*rest);
    const bool of = absl::ConsumePrefix(&*rest, " of ") && TakeNumber<int>(&*rest).has_value();
    if (count && of && absl::ConsumePrefix(&*rest, ": ")) return RanksAt(*rest);
  }
  for (const absl::string_view mark : {"; missing: ", "; not leaving yet: ", "; not yet rejoined: ",
                                       " members to attach again: "}) {
    if (const auto rest = Behind(text, mark)) return RanksAt(*rest);
  }
  return {};
}

// Returns the facts of a time-out that lists ranks. The text describes the first few of them.
ErrorFacts FactsOfList(absl::string_view text, const Roster& roster) {
  std::vector<int> missing = MissingRanks(text);
  while (!missing.empty() && !roster.HasRank(missing.back())) missing.pop_back();
  ErrorFacts facts;
  if (missing.empty()) return facts;
  const std::optional<Name> described = FirstName(text, roster);
  if (described && described->member.rank == missing.front()) facts = described->member;
  facts.rank = missing.front();
  facts.missing_ranks = std::move(missing);
  return facts;
}

// Returns the cause of a loss, before what the coordinator adds: the activity of the lost member,
// as server/core/api/activity.h describes it.
std::string CauseIn(absl::string_view text) {
  size_t end = text.size();
  for (const absl::string_view activity :
       {"; in ", "; last completed ", "; last called ", "; no call "}) {
    end = std::min(end, text.find(activity));
  }
  return std::string(text.substr(0, end));
}

// Adds why the named member was lost, and who else was, if the text says that it was.
void AddLoss(const Name& name, ErrorFacts* facts) {
  constexpr absl::string_view kTime = "12:00:01.500Z";
  absl::string_view text = name.rest;
  if (!absl::ConsumePrefix(&text, " was lost at ")) {
    if (!absl::ConsumePrefix(&text, ", was lost: ") && !absl::ConsumePrefix(&text, " was lost: ")) {
      return;
    }
  } else if (text.size() < kTime.size() || text[kTime.size() - 1] != 'Z') {
    return;
  } else {
    text.remove_prefix(kTime.size());
    if (!absl::ConsumePrefix(&text, ": ")) return;
  }
  facts->cause = CauseIn(text);
  constexpr absl::string_view kOthers = "; also lost: ";
  const size_t others = text.rfind(kOthers);
  if (others != absl::string_view::npos) {
    facts->missing_ranks = RanksAt(text.substr(others + kOthers.size()));
  }
  const auto at =
      std::lower_bound(facts->missing_ranks.begin(), facts->missing_ranks.end(), *facts->rank);
  facts->missing_ranks.insert(at, *facts->rank);
}

absl::Status WithNames(const absl::Status& error, absl::string_view text, const Roster& roster) {
  if (absl::IsDeadlineExceeded(error)) {
    const ErrorFacts facts = FactsOfList(text, roster);
    if (facts.rank) return WithFacts(error, facts);
    text = text.substr(0, text.find("; present: "));  // members that a Join does not wait for
  }
  const std::optional<Name> name = FirstName(text, roster);
  if (!name) return error;
  ErrorFacts facts = name->member;
  AddLoss(*name, &facts);
  return WithFacts(error, facts);
}

}  // namespace

absl::Status WithNamedMembers(const absl::Status& error, const v1::JoinResponse* place,
                              absl::string_view operation) {
  absl::string_view text = error.message();
  if (absl::IsDeadlineExceeded(error) && !operation.empty()) {
    text = Behind(text, operation).value_or(text);
  }
  return WithNames(error, text, {place, /*is_complete=*/place != nullptr});
}

absl::Status WithNamedProcesses(const absl::Status& error, const v1::JoinResponse* place) {
  return WithNames(error, error.message(), {place, /*is_complete=*/false});
}

}  // namespace muster::internal
