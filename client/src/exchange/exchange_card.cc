#include "client/src/exchange/exchange_card.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/src/share_or_fail.h"
#include "muster/codec.h"

namespace muster::internal {
namespace {

// The fields of fixed size.
struct Numbers {
  uint64_t num_bytes;
  int32_t type;
  uint8_t offers;
  uint8_t through_folder;
};

std::string List(const std::vector<int32_t>& ranks) {
  return absl::StrCat("[", absl::StrJoin(ranks, ","), "]");
}

template <class... Parts>
absl::Status Bad(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

const char* Way(const ExchangeCard& card) {
  return card.through_folder ? "a folder" : "shared memory";
}

absl::Status CheckSameCall(const ExchangeCard& first, const ExchangeCard& other, const Group& group,
                           int index) {
  if (other.ranks != first.ranks) {
    return Bad("the ranks of an exchange differ: ", NameOfMember(group, 0), " says ",
               List(first.ranks), ", ", NameOfMember(group, index), " says ", List(other.ranks));
  }
  if (other.through_folder == first.through_folder) return absl::OkStatus();
  return Bad("the ways of an exchange differ: ", NameOfMember(group, 0), " uses ", Way(first), ", ",
             NameOfMember(group, index), " uses ", Way(other));
}

absl::Status CheckOneNode(const std::vector<ExchangeCard>& cards, const Group& group) {
  const int first = FirstIndex(cards, group);
  std::vector<std::string> elsewhere;
  for (int index = 0; index < group.size(); ++index) {
    const std::vector<int32_t>& ranks = cards[0].ranks;
    const bool listed = std::count(ranks.begin(), ranks.end(), group.ranks()[index]) > 0;
    if (listed && group.member(index).node_rank != group.member(first).node_rank) {
      elsewhere.push_back(NameOfMember(group, index));
    }
  }
  if (elsewhere.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "shared memory does not reach from one node to another: ", NameOfMember(group, first),
      " is to see what ", absl::StrJoin(elsewhere, ", "),
      " offer; exchange through a shared folder, or among the ranks of each node"));
}

}  // namespace

std::string PackCard(const ExchangeCard& card) {
  std::string bytes = Encode(
      Numbers{card.num_bytes, static_cast<int32_t>(card.type), card.offers, card.through_folder});
  Codec<std::vector<int32_t>>::Append(card.ranks, &bytes);
  Codec<std::vector<int64_t>>::Append(card.shape, &bytes);
  Codec<std::string>::Append(card.token, &bytes);
  return bytes;
}

absl::StatusOr<ExchangeCard> UnpackCard(absl::string_view bytes) {
  const auto numbers = Codec<Numbers>::Read(&bytes);
  if (!numbers.ok()) return numbers.status();
  const auto ranks = Codec<std::vector<int32_t>>::Read(&bytes);
  if (!ranks.ok()) return ranks.status();
  const auto shape = Codec<std::vector<int64_t>>::Read(&bytes);
  if (!shape.ok()) return shape.status();
  const auto token = Codec<std::string>::Read(&bytes);
  if (!token.ok()) return token.status();
  ExchangeCard card;
  card.ranks = *ranks;
  card.offers = numbers->offers != 0;
  card.through_folder = numbers->through_folder != 0;
  card.num_bytes = numbers->num_bytes;
  card.type = static_cast<DataType>(numbers->type);
  card.shape = *shape;
  card.token = *token;
  return card;
}

absl::Status CheckExchangeRanks(const std::vector<int>& ranks, const Group& group) {
  if (ranks.empty()) return Bad("the list of an exchange's ranks is empty; expected at least one");
  std::set<int> seen;
  for (const int rank : ranks) {
    if (!seen.insert(rank).second) return Bad("an exchange names rank ", rank, " twice");
    if (std::count(group.ranks().begin(), group.ranks().end(), rank) > 0) continue;
    return Bad("an exchange names rank ", rank, ", which is not in its group (ranks ",
               absl::StrJoin(group.ranks(), ","), ")");
  }
  return absl::OkStatus();
}

absl::Status CheckCards(const std::vector<ExchangeCard>& cards, const Group& group) {
  for (int index = 1; index < group.size(); ++index) {
    absl::Status status = CheckSameCall(cards[0], cards[index], group, index);
    if (!status.ok()) return status;
  }
  return cards[0].through_folder ? absl::OkStatus() : CheckOneNode(cards, group);
}

absl::Status CheckEqualTensors(const std::vector<ExchangeCard>& cards, const Group& group) {
  const int first = FirstIndex(cards, group);
  const ExchangeCard& expected = cards[first];
  for (int index = 0; index < group.size(); ++index) {
    const ExchangeCard& card = cards[index];
    if (!card.offers) continue;
    if (card.num_bytes == expected.num_bytes && card.type == expected.type) continue;
    return Bad("the tensors of an exchange differ: that of ", NameOfMember(group, first), " has ",
               expected.num_bytes, " bytes of ", NameOf(expected.type), ", that of ",
               NameOfMember(group, index), " has ", card.num_bytes, " bytes of ",
               NameOf(card.type));
  }
  return absl::OkStatus();
}

int FirstIndex(const std::vector<ExchangeCard>& cards, const Group& group) {
  const std::vector<int>& ranks = group.ranks();
  const int first = cards[0].ranks[0];
  return static_cast<int>(std::find(ranks.begin(), ranks.end(), first) - ranks.begin());
}

uint64_t TotalBytes(const std::vector<ExchangeCard>& cards, const Group& group) {
  const int first = FirstIndex(cards, group);
  uint64_t total = 0;
  for (int index = 0; index < group.size(); ++index) {
    if (cards[index].offers && index != first) total += cards[index].num_bytes;
  }
  return total;
}

}  // namespace muster::internal
