#include "client/nccl/bootstrap/split_ranks.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/base/outcome.h"
#include "client/src/group/named_members.h"
#include "client/src/group/rank_names.h"
#include "muster/codec.h"

namespace muster::internal {
namespace {

constexpr char kSplitTypeName[] = "NcclCommunicator::Split()";

std::string RanksText(const SplitRanks& part) {
  if (part.empty()) return "no part";
  SplitRanks sorted = part;
  std::sort(sorted.begin(), sorted.end());
  return RankList(sorted);
}

absl::Status Disagreement(const Group& group, int first, const SplitRanks& first_part, int second,
                          const SplitRanks& second_part) {
  return absl::FailedPreconditionError(
      absl::StrCat(DescribePeer(group, first), " asks for ", RanksText(first_part), " and ",
                   DescribePeer(group, second), " for ", RanksText(second_part),
                   "; the ranks of a part must all ask for the same ranks in the same order"));
}

std::string Pack(const absl::StatusOr<SplitRanks>& own) {
  return own.ok() ? PackOutcome(Encode(*own)) : PackOutcome(own.status());
}

}  // namespace

absl::StatusOr<SplitRanks> SplitRanksOf(const std::vector<std::string>& incarnations, int own,
                                        const Group& part) {
  SplitRanks indices;
  for (int i = 0; i < part.size(); ++i) {
    const auto found =
        std::find(incarnations.begin(), incarnations.end(), part.member(i).incarnation);
    if (found == incarnations.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(DescribePeer(part, i), " of the group is not a rank of the communicator"));
    }
    indices.push_back(static_cast<int>(found - incarnations.begin()));
  }
  if (std::find(indices.begin(), indices.end(), own) != indices.end()) return indices;
  return absl::InvalidArgumentError(
      absl::StrCat("the group (", RanksText(indices), " of the communicator) is without rank ", own,
                   ", which asks for it; a rank can only ask for a part that it is in"));
}

absl::Status CheckSplitRanks(const Group& group, const std::vector<SplitRanks>& parts) {
  for (int rank = 0; rank < static_cast<int>(parts.size()); ++rank) {
    for (int other : parts[rank]) {
      if (other < 0 || other >= group.size()) {
        return absl::InternalError(absl::StrCat(DescribePeer(group, rank), " asks for rank ", other,
                                                " of a communicator of ", group.size()));
      }
      if (parts[other] == parts[rank]) continue;
      return Disagreement(group, rank, parts[rank], other, parts[other]);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<SplitRanks>> ExchangeSplitRanks(const Group& group,
                                                           absl::string_view what,
                                                           const absl::StatusOr<SplitRanks>& own,
                                                           const Deadline& deadline) {
  const absl::StatusOr<std::vector<std::string>> packed =
      group.AllGatherBytes(Pack(own), kSplitTypeName, deadline.Remaining());
  if (!own.ok()) return own.status();
  if (!packed.ok()) return packed.status();
  std::vector<SplitRanks> parts;
  for (int rank = 0; rank < group.size(); ++rank) {
    const absl::StatusOr<std::string> bytes = UnpackOutcome((*packed)[rank]);
    if (!bytes.ok()) {
      const std::string text = absl::StrCat(DescribePeer(group, rank), " cannot take part in ",
                                            what, ": ", bytes.status().message());
      return WithMember(group, rank, absl::FailedPreconditionError(text));
    }
    absl::StatusOr<SplitRanks> part = Decode<SplitRanks>(*bytes);
    if (!part.ok()) return part.status();
    parts.push_back(*std::move(part));
  }
  return parts;
}

}  // namespace muster::internal
