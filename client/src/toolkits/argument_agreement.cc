#include "client/src/toolkits/argument_agreement.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/src/base/outcome.h"
#include "client/src/group/group_access.h"
#include "client/src/group/numbered_group.h"
#include "client/src/group/rank_names.h"
#include "client/src/group/share_or_fail.h"
#include "common/names/operation_names.h"
#include "common/text/fnv1a.h"
#include "muster/codec.h"

namespace muster::internal {
namespace {

using Items = std::map<std::string, std::string>;

// How much of a disagreement an error describes.
constexpr size_t kDescribedItems = 3;
constexpr size_t kDescribedSides = 4;

std::string EncodeItems(const Items& items) {
  std::vector<std::string> texts;
  for (const auto& [name, text] : items) {
    texts.push_back(name);
    texts.push_back(text);
  }
  return Encode(texts);
}

absl::StatusOr<Items> DecodeItems(absl::string_view bytes) {
  const auto texts = Decode<std::vector<std::string>>(bytes);
  if (!texts.ok()) return texts.status();
  Items items;
  for (size_t i = 0; i + 1 < texts->size(); i += 2) items[(*texts)[i]] = (*texts)[i + 1];
  return items;
}

// Returns the values that ranks pass under one name, with the ranks of each.
std::vector<std::pair<std::string, std::vector<int>>> SidesOf(const std::string& name,
                                                              const std::vector<Items>& items) {
  std::vector<std::pair<std::string, std::vector<int>>> sides;
  for (size_t rank = 0; rank < items.size(); ++rank) {
    const auto item = items[rank].find(name);
    const std::string text = item == items[rank].end() ? "nothing" : item->second;
    auto side =
        std::find_if(sides.begin(), sides.end(), [&](const auto& s) { return s.first == text; });
    if (side == sides.end()) side = sides.insert(sides.end(), {text, {}});
    side->second.push_back(static_cast<int>(rank));
  }
  return sides;
}

std::string DescribeItem(const std::string& name,
                         const std::vector<std::pair<std::string, std::vector<int>>>& sides) {
  std::vector<std::string> texts;
  for (const auto& [text, ranks] : sides) {
    if (texts.size() == kDescribedSides) break;
    texts.push_back(absl::StrCat(RankList(ranks), ranks.size() == 1 ? " passes " : " pass ", text));
  }
  if (sides.size() > texts.size()) {
    texts.push_back(absl::StrCat(sides.size() - texts.size(), " others differ again"));
  }
  return absl::StrCat(name.empty() ? "" : absl::StrCat("'", name, "': "),
                      absl::StrJoin(texts, ", "));
}

// `items` has the items of all ranks, in rank order.
std::string DescribeDifferences(const std::vector<Items>& items) {
  std::set<std::string> names;
  for (const Items& of_rank : items) {
    for (const auto& item : of_rank) names.insert(item.first);
  }
  std::vector<std::string> texts;
  size_t differ = 0;
  for (const std::string& name : names) {
    const auto sides = SidesOf(name, items);
    if (sides.size() > 1 && ++differ <= kDescribedItems) {
      texts.push_back(DescribeItem(name, sides));
    }
  }
  if (differ > texts.size()) texts.push_back(absl::StrCat(differ - texts.size(), " more differ"));
  return absl::StrJoin(texts, "; ");
}

// Lets the ranks exchange their items, and returns the error that names the differences.
absl::Status ExplainDisagreement(const Group& world, uint64_t number, absl::string_view operation,
                                 const Items& mine, const CallOptions& options, CallSite site) {
  NumberedGroup numbered(world, number);
  const auto packed = numbered.group().AllGatherBytes(
      EncodeItems(mine), CallTypeName(operation, "what differs"), options, site);
  if (!packed.ok()) return packed.status();
  numbered.Keep();
  std::vector<Items> items;
  for (const std::string& bytes : *packed) {
    absl::StatusOr<Items> one = DecodeItems(bytes);
    if (!one.ok()) return one.status();
    items.push_back(*std::move(one));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      operation, ": the ranks pass different arguments: ", DescribeDifferences(items)));
}

uint64_t DigestOf(const Items& items) { return Fnv1a64(EncodeItems(items)); }

absl::StatusOr<std::string> Pack(uint64_t number, const absl::StatusOr<RankArguments>& arguments) {
  if (!arguments.ok()) return arguments.status();
  return absl::StrCat(Encode(number), Encode(DigestOf(arguments->items)), arguments->value);
}

// Exchanges every rank's packed arguments. It cannot use ShareOrFail(), because a retry must have
// the same items.
absl::StatusOr<std::vector<std::string>> ExchangeArguments(
    const Group& world, absl::string_view operation, const absl::StatusOr<RankArguments>& mine,
    const CallOptions& options, CallSite site) {
  CollectiveCall call;
  call.kind = CollectiveKind::kAllGather;
  call.type_name = CallTypeName(operation);
  call.payload = PackOutcome(Pack(NumberedGroup::NextNumber(world), mine));
  if (mine.ok()) call.arguments = std::max<uint64_t>(1, DigestOf(mine->items));
  const auto packed = GroupAccess::Run(world, std::move(call), options, site);
  if (!packed.ok()) return packed.status();
  return UnpackAll(world, *packed);
}

}  // namespace

absl::StatusOr<AgreedArguments> AgreeOnArguments(const Group& world, absl::string_view operation,
                                                 const absl::StatusOr<RankArguments>& mine,
                                                 const CallOptions& options, CallSite site) {
  const auto all = ExchangeArguments(world, operation, mine, options, site);
  if (!all.ok()) return all.status();
  AgreedArguments met;
  std::set<uint64_t> digests;
  for (absl::string_view rest : *all) {
    const absl::StatusOr<uint64_t> number = Codec<uint64_t>::Read(&rest);
    const absl::StatusOr<uint64_t> digest = Codec<uint64_t>::Read(&rest);
    if (!number.ok() || !digest.ok()) {
      return absl::InternalError(absl::StrCat(operation, ": a rank sent malformed arguments"));
    }
    met.number = std::max(met.number, *number);
    digests.insert(*digest);
    met.values.emplace_back(rest);
  }
  if (digests.size() == 1) return met;
  return ExplainDisagreement(world, met.number, operation, mine->items, options, site);
}

}  // namespace muster::internal
