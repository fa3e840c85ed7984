#include "client/src/group/named_members.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/src/base/error_note.h"
#include "client/src/group/rank_names.h"

namespace muster::internal {
namespace {

ErrorFacts FactsOfMember(const Group& group, int index) {
  const Member& member = group.member(index);
  ErrorFacts facts;
  facts.rank = member.rank;
  facts.node = member.node_id;
  facts.pid = member.pid;
  return facts;
}

}  // namespace

absl::Status WithMember(const Group& group, int index, const absl::Status& error) {
  return WithFacts(error, FactsOfMember(group, index));
}

absl::Status WithMissing(const Group& group, const std::vector<int>& indices,
                         const absl::Status& error) {
  if (indices.empty()) return error;
  ErrorFacts facts = FactsOfMember(group, indices.front());
  for (const int index : indices) facts.missing_ranks.push_back(group.member(index).rank);
  std::sort(facts.missing_ranks.begin(), facts.missing_ranks.end());
  return WithFacts(error, facts);
}

absl::Status WithMemberOfText(const Group& group, const absl::Status& error) {
  absl::string_view text = error.message();
  int rank = 0;
  if (!absl::ConsumePrefix(&text, "rank ")) return error;
  if (!absl::SimpleAtoi(text.substr(0, text.find(' ')), &rank)) return error;
  for (int index = 0; index < group.size(); ++index) {
    if (group.member(index).rank != rank) continue;
    const bool named =
        absl::StartsWith(error.message(), absl::StrCat(NameOfMember(group, index), ": "));
    return named ? WithMember(group, index, error) : error;
  }
  return error;
}

}  // namespace muster::internal
