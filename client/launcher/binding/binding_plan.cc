#include "client/launcher/binding/binding_plan.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/launcher/outcome/rank_ranges.h"
#include "common/text/number_ranges.h"

namespace muster::launcher {
namespace {

using CoreIndices = std::vector<size_t>;

// Ranks that may use the same cores.
struct RankSet {
  CoreIndices cores;
  std::vector<int> ranks;
};

CoreIndices AllCores(const NodeLayout& layout) {
  CoreIndices all(layout.cores.size());
  std::iota(all.begin(), all.end(), size_t{0});
  return all;
}

// Returns the cores near the rank's GPU, or all cores if no GPU is known or none is near.
CoreIndices CoresNear(const NodeLayout& layout, int rank) {
  if (layout.gpus.empty()) return AllCores(layout);
  const Cpus& near = layout.gpus[static_cast<size_t>(rank) % layout.gpus.size()];
  CoreIndices cores;
  for (size_t i = 0; i < layout.cores.size(); ++i) {
    const Cpus& cpus = layout.cores[i].cpus;
    const bool is_near = std::any_of(cpus.begin(), cpus.end(), [&near](int cpu) {
      return std::binary_search(near.begin(), near.end(), cpu);
    });
    if (is_near) cores.push_back(i);
  }
  return cores.empty() ? AllCores(layout) : cores;
}

// Returns sets of ranks, those with the fewest cores first, because they have the least choice.
std::vector<RankSet> RankSets(const NodeLayout& layout, int ranks) {
  std::map<std::pair<size_t, CoreIndices>, std::vector<int>> by_cores;
  for (int rank = 0; rank < ranks; ++rank) {
    CoreIndices cores = CoresNear(layout, rank);
    const size_t count = cores.size();
    by_cores[{count, std::move(cores)}].push_back(rank);
  }
  std::vector<RankSet> sets;
  for (auto& [key, members] : by_cores) sets.push_back({key.second, std::move(members)});
  return sets;
}

// Returns the core for number `i` of `count` ranks that share these cores.
size_t Spread(const CoreIndices& cores, size_t i, size_t count) {
  return cores[i * cores.size() / count];
}

std::string Counted(int count, absl::string_view noun) {
  return absl::StrCat(count, " ", noun, count == 1 ? "" : "s");
}

absl::Status TooFewCores(int cores, int ranks, int taken) {
  const std::string others =
      taken == 0 ? "" : absl::StrCat(" that no other muster run of yours is bound to");
  const std::string text = absl::StrCat(
      "--bind-to is 'core', and this node has ", Counted(cores, "core"), others, " for ",
      Counted(ranks, "rank"), "; start fewer ranks, or give --bind-to=numa or none");
  return cores + taken < ranks ? absl::InvalidArgumentError(text)
                               : absl::FailedPreconditionError(text);
}

// A core for each rank, without sharing.
class CoreAssignment {
 public:
  CoreAssignment(const NodeLayout& layout, int ranks)
      : layout_(layout), used_(layout.cores.size()), cpus_(static_cast<size_t>(ranks)) {}

  // Gives cores of the set to its ranks. Returns the ranks for which there is none left.
  std::vector<int> Assign(const RankSet& set) {
    CoreIndices free;
    std::copy_if(set.cores.begin(), set.cores.end(), std::back_inserter(free),
                 [this](size_t core) { return !used_[core]; });
    const size_t count = std::min(free.size(), set.ranks.size());
    for (size_t i = 0; i < count; ++i) {
      const size_t core = Spread(free, i, count);
      used_[core] = true;
      cpus_[static_cast<size_t>(set.ranks[i])] = layout_.cores[core].cpus;
    }
    return {set.ranks.begin() + static_cast<ptrdiff_t>(count), set.ranks.end()};
  }

  std::vector<Cpus> Take() { return std::move(cpus_); }

 private:
  const NodeLayout& layout_;
  std::vector<bool> used_;
  std::vector<Cpus> cpus_;  // by local rank
};

}  // namespace

absl::StatusOr<std::vector<Cpus>> BindToCores(const NodeLayout& layout, int ranks, int taken) {
  const int cores = static_cast<int>(layout.cores.size());
  if (cores < ranks) return TooFewCores(cores, ranks, taken);
  CoreAssignment assignment(layout, ranks);
  RankSet rest = {AllCores(layout), {}};
  for (const RankSet& set : RankSets(layout, ranks)) {
    const std::vector<int> left = assignment.Assign(set);
    rest.ranks.insert(rest.ranks.end(), left.begin(), left.end());
  }
  assignment.Assign(rest);
  return assignment.Take();
}

std::vector<Cpus> BindToNumaNodes(const NodeLayout& layout, int ranks) {
  std::vector<Cpus> cpus(static_cast<size_t>(ranks));
  for (const RankSet& set : RankSets(layout, ranks)) {
    for (size_t i = 0; i < set.ranks.size(); ++i) {
      const Core& core = layout.cores[Spread(set.cores, i, set.ranks.size())];
      cpus[static_cast<size_t>(set.ranks[i])] = layout.numa_nodes[static_cast<size_t>(core.numa)];
    }
  }
  return cpus;
}

std::string DescribeBinding(const std::vector<Cpus>& cpus, int first_rank) {
  constexpr size_t kMaxParts = 16;
  std::vector<std::string> parts;
  for (size_t first = 0, next; first < cpus.size(); first = next) {
    if (parts.size() == kMaxParts) {
      parts.push_back("...");
      break;
    }
    for (next = first + 1; next < cpus.size() && cpus[next] == cpus[first];) ++next;
    std::vector<int> ranks(next - first);
    std::iota(ranks.begin(), ranks.end(), first_rank + static_cast<int>(first));
    parts.push_back(absl::StrCat(NamedRanks(ranks), " to ",
                                 cpus[first].size() == 1 ? "CPU " : "CPUs ",
                                 NumberRanges(cpus[first])));
  }
  return absl::StrJoin(parts, "; ");
}

}  // namespace muster::launcher
