#include "client/src/helpers/meeting.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/src/peer_names.h"
#include "client/src/share_or_fail.h"
#include "muster/codec.h"

namespace muster::internal {
namespace {

using Items = std::map<std::string, std::string>;
using Values = absl::StatusOr<std::vector<std::string>>;

// How much of a disagreement a message tells.
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

// FNV-1a.
uint64_t Digest(absl::string_view bytes) {
  uint64_t digest = 14695981039346656037u;
  for (const char byte : bytes) {
    digest = (digest ^ static_cast<unsigned char>(byte)) * 1099511628211u;
  }
  return digest;
}

// What ranks pass under one name, and which do.
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

// `items` are those of all ranks, in rank order.
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

// The ranks meet again, to tell each other what differs.
absl::Status ExplainDisagreement(const Group& world, absl::string_view operation, const Items& mine,
                                 const CallOptions& options, CallSite site) {
  const auto packed = world.AllGatherBytes(
      EncodeItems(mine), absl::StrCat(operation, ": what differs"), options, site);
  if (!packed.ok()) return packed.status();
  std::vector<Items> items;
  for (const std::string& bytes : *packed) {
    absl::StatusOr<Items> one = DecodeItems(bytes);
    if (!one.ok()) return one.status();
    items.push_back(*std::move(one));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(operation, ": the ranks do not pass the same: ", DescribeDifferences(items)));
}

absl::StatusOr<std::string> Pack(const absl::StatusOr<Offer>& offer) {
  if (!offer.ok()) return offer.status();
  return absl::StrCat(Encode(Digest(EncodeItems(offer->items))), offer->value);
}

}  // namespace

Values Meet(const Group& world, absl::string_view operation, const absl::StatusOr<Offer>& mine,
            const CallOptions& options, CallSite site) {
  Values values = ShareOrFail(world, Pack(mine), operation, options, site);
  if (!values.ok()) return values;
  const std::string first = values->front().substr(0, sizeof(uint64_t));
  bool agree = true;
  for (std::string& value : *values) {
    agree = agree && value.compare(0, first.size(), first) == 0;
    value.erase(0, sizeof(uint64_t));
  }
  if (agree) return values;
  return ExplainDisagreement(world, operation, mine->items, options, site);
}

}  // namespace muster::internal
