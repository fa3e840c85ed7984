#include "server/core/group/disagreement.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/core/api/describe.h"
#include "server/core/support/bounded_text.h"

namespace muster::core {
namespace {

constexpr size_t kMaxSides = 8;
constexpr size_t kMaxCallSites = 3;  // per side
constexpr size_t kMaxSideBytes = 600;

// The ranks of a group that called the same, and the places they called it from.
struct Side {
  std::vector<uint32_t> ranks;
  std::set<std::string> call_sites;  // at most one more than are named
};

// Returns the sides, by the operation they called.
std::map<std::string, Side> SidesOf(const std::vector<uint32_t>& ranks,
                                    const std::vector<Arrival>& arrivals) {
  std::map<std::string, Side> sides;
  for (size_t i = 0; i < arrivals.size(); ++i) {
    if (!arrivals[i].sent) continue;
    Side& side = sides[DescribeOperation(arrivals[i])];
    side.ranks.push_back(ranks[i]);
    if (arrivals[i].call_site.empty() || side.call_sites.size() > kMaxCallSites) continue;
    side.call_sites.insert(arrivals[i].call_site);
  }
  return sides;
}

std::string DescribeSide(const Side& side, const std::string& operation) {
  std::vector<std::string> sites(side.call_sites.begin(), side.call_sites.end());
  if (sites.size() > kMaxCallSites) sites.back() = "...";
  return Shortened(
      absl::StrCat(Ranks(side.ranks), " called ", operation,
                   sites.empty() ? "" : absl::StrCat(" at ", absl::StrJoin(sites, ", "))),
      kMaxSideBytes);
}

}  // namespace

std::string DescribeDisagreement(const std::vector<uint32_t>& ranks,
                                 const std::vector<Arrival>& arrivals) {
  std::map<std::vector<uint32_t>, std::string> by_ranks;
  for (auto& [operation, side] : SidesOf(ranks, arrivals)) {
    std::vector<uint32_t> sorted = side.ranks;
    std::sort(sorted.begin(), sorted.end());
    by_ranks[sorted] = DescribeSide({sorted, side.call_sites}, operation);
  }
  std::vector<std::string> words;
  for (const auto& [sorted, side] : by_ranks) {
    if (words.size() == kMaxSides) break;
    words.push_back(side);
  }
  if (by_ranks.size() > kMaxSides) {
    words.push_back(
        absl::StrCat("and other ranks called ", by_ranks.size() - kMaxSides, " other operations"));
  }
  return absl::StrJoin(words, ", ");
}

}  // namespace muster::core
