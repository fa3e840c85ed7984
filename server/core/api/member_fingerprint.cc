#include "server/core/api/member_fingerprint.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "common/names/node_names.h"
#include "server/core/api/describe.h"

namespace muster::core {
namespace {

constexpr size_t kMaxTexts = 20;
// The most values of one fact that are compared. If there are more, and at least half as many as
// members, each member is taken to have a value of its own.
constexpr size_t kMaxValues = 4;
// The smallest difference of clocks that is reported. Such a difference makes logs hard to compare
// and certificates invalid. A smaller one may be the time that a message takes.
constexpr absl::Duration kClockTolerance = absl::Seconds(1);
// Shared memory that the CPU collectives, and NCCL, need on a node, roughly. Docker's default is 64
// MiB.
constexpr uint64_t kLittleSharedMemory = 16ull << 20;
constexpr uint64_t kLittleForNccl = 64ull << 20;

using Members = std::vector<const FingerprintedMember*>;

// Returns text such as "rank 9 (host h) has", "ranks 4-7 (node 'n2') have" or "ranks 3,9 have".
std::string DescribeHolders(const Members& members, const NodeNames& node_names) {
  std::vector<uint32_t> ranks;
  std::set<std::string> nodes;
  for (const FingerprintedMember* member : members) {
    ranks.push_back(member->rank);
    nodes.insert(member->node_id);
  }
  const std::string where =
      nodes.size() == 1 ? absl::StrCat(" (", node_names.Describe(*nodes.begin()), ")") : "";
  return absl::StrCat(Ranks(ranks), where, ranks.size() == 1 ? " has " : " have ");
}

// Returns whether the name is an environment variable's (NCCL_ALGO) and not a program's (NCCL).
bool IsVariable(absl::string_view name) { return name.find('_') != absl::string_view::npos; }

std::string WithValue(const std::string& name, const std::optional<std::string>& value) {
  if (!value) return absl::StrCat("no ", name);
  return absl::StrCat(name, IsVariable(name) ? "=" : " ", *value);
}

// The members by their value of one fact. "No value" counts as a value.
using Values = std::map<std::optional<std::string>, Members>;

// The members by their facts. Members that share their facts are looked at once.
using ByFacts = std::map<const Facts*, Members>;

Values ValuesOf(const std::string& name, const ByFacts& members) {
  Values values;
  for (const auto& [facts, holders] : members) {
    const auto fact = facts->find(name);
    Members& same = values[fact == facts->end() ? std::nullopt : std::make_optional(fact->second)];
    same.insert(same.end(), holders.begin(), holders.end());
  }
  return values;
}

bool ByFirstRank(const Members& a, const Members& b) { return a.front()->rank < b.front()->rank; }

std::string DescribeFact(const std::string& name, Values values, size_t members,
                         const NodeNames& node_names) {
  std::optional<std::string> usual;
  bool has_usual = false;
  std::vector<std::pair<Members, std::string>> mismatches;
  for (auto& [value, holders] : values) {
    std::sort(holders.begin(), holders.end(),
              [](const FingerprintedMember* a, const FingerprintedMember* b) {
                return a->rank < b->rank;
              });
    if (holders.size() * 2 > members) {
      usual = value;
      has_usual = true;
    } else {
      mismatches.emplace_back(holders, WithValue(name, value));
    }
  }
  std::sort(mismatches.begin(), mismatches.end(),
            [](const auto& a, const auto& b) { return ByFirstRank(a.first, b.first); });
  std::vector<std::string> parts;
  for (const auto& [holders, what] : mismatches)
    parts.push_back(absl::StrCat(DescribeHolders(holders, node_names), what));
  if (has_usual) {
    const size_t usual_count = values.at(usual).size();
    parts.push_back(
        absl::StrCat("the other ", usual_count == 1 ? "" : absl::StrCat(usual_count, " "),
                     usual_count == 1 ? "one has " : "have ",
                     usual ? (IsVariable(name) ? WithValue(name, usual) : *usual) : "none"));
  }
  return absl::StrJoin(parts, ", ");
}

void CompareFacts(const ByFacts& members, size_t count, const NodeNames& node_names,
                  std::vector<std::string>* out) {
  std::set<std::string> names;
  for (const auto& [facts, holders] : members) {
    for (const auto& [name, value] : *facts) names.insert(name);
  }
  for (const std::string& name : names) {
    Values values = ValuesOf(name, members);
    if (values.size() < 2) continue;
    if (values.size() > kMaxValues && values.size() * 2 >= count) continue;
    out->push_back(DescribeFact(name, std::move(values), count, node_names));
  }
}

// The members of one node, and the best of their readings. The best clock is the one that is off
// the least, because a message's way only adds to the difference.
struct Node {
  Members members;
  std::optional<absl::Duration> clock_ahead;
  std::optional<uint64_t> free_shared_memory;
  bool has_nccl = false;
};

void Add(const FingerprintedMember& member, Node* node) {
  node->members.push_back(&member);
  if (member.clock_ahead && (!node->clock_ahead || absl::AbsDuration(*member.clock_ahead) <
                                                       absl::AbsDuration(*node->clock_ahead))) {
    node->clock_ahead = member.clock_ahead;
  }
  if (member.free_shared_memory) {
    node->free_shared_memory =
        std::min(node->free_shared_memory.value_or(UINT64_MAX), *member.free_shared_memory);
  }
  node->has_nccl |= member.facts != nullptr && member.facts->count("NCCL") > 0;
}

// Returns text such as "host h (ranks 4-7)".
std::string Describe(const std::string& node_id, const Node& node, const NodeNames& node_names) {
  std::vector<uint32_t> ranks;
  for (const FingerprintedMember* member : node.members) ranks.push_back(member->rank);
  return absl::StrCat(node_names.Describe(node_id), " (", Ranks(ranks), ")");
}

std::string DescribeSkew(absl::Duration by) {
  return absl::StrCat(DescribeDuration(absl::AbsDuration(by)),
                      by > absl::ZeroDuration() ? " ahead of" : " behind");
}

using Nodes = std::map<std::string, Node>;

void CompareClocks(const Nodes& nodes, const NodeNames& node_names, std::vector<std::string>* out) {
  size_t ahead = 0;
  size_t behind = 0;
  size_t known = 0;
  absl::Duration least = absl::InfiniteDuration();
  for (const auto& [id, node] : nodes) {
    if (!node.clock_ahead) continue;
    ++known;
    ahead += *node.clock_ahead > kClockTolerance;
    behind += *node.clock_ahead < -kClockTolerance;
    if (absl::AbsDuration(*node.clock_ahead) < absl::AbsDuration(least)) least = *node.clock_ahead;
  }
  if (known > 1 && (ahead == known || behind == known)) {
    out->push_back(absl::StrCat("the coordinator's clock is at least ", DescribeSkew(-least),
                                " the clocks of all ", known, " nodes"));
    return;
  }
  for (const auto& [id, node] : nodes) {
    if (!node.clock_ahead || absl::AbsDuration(*node.clock_ahead) <= kClockTolerance) continue;
    out->push_back(absl::StrCat("the clock of ", Describe(id, node, node_names), " is ",
                                DescribeSkew(*node.clock_ahead),
                                " the coordinator's: times in logs do not compare, and "
                                "certificates may not be valid there; synchronize the clocks"));
  }
}

void CheckSharedMemory(const Nodes& nodes, const NodeNames& node_names,
                       std::vector<std::string>* out) {
  for (const auto& [id, node] : nodes) {
    if (!node.free_shared_memory) continue;
    const uint64_t needed = node.has_nccl ? kLittleForNccl : kLittleSharedMemory;
    if (*node.free_shared_memory > needed) continue;
    out->push_back(absl::StrCat(
        Describe(id, node, node_names), " has ", *node.free_shared_memory >> 20,
        " MiB free in /dev/shm, which ", node.has_nccl ? "NCCL needs more of" : "collectives use",
        ": give the container more (docker run --shm-size, or an emptyDir of medium Memory)"));
  }
}

}  // namespace

std::shared_ptr<const Facts> FactsInterner::Intern(std::shared_ptr<const Facts> facts) {
  if (last_ == nullptr || *last_ != *facts) last_ = std::move(facts);
  return last_;
}

std::vector<std::string> DescribeMismatches(const std::vector<FingerprintedMember>& members) {
  std::vector<std::string> texts;
  ByFacts by_facts;
  Nodes nodes;
  size_t known = 0;
  for (const FingerprintedMember& member : members) {
    Add(member, &nodes[member.node_id]);
    if (member.facts == nullptr) continue;
    by_facts[member.facts.get()].push_back(&member);
    ++known;
  }
  NodeNames node_names;
  for (const auto& [id, node] : nodes) node_names.Add(id);
  CompareFacts(by_facts, known, node_names, &texts);
  CompareClocks(nodes, node_names, &texts);
  CheckSharedMemory(nodes, node_names, &texts);
  if (texts.size() > kMaxTexts) {
    const size_t more = texts.size() - (kMaxTexts - 1);
    texts.resize(kMaxTexts - 1);
    texts.push_back(absl::StrCat("and ", more, " more differences"));
  }
  return texts;
}

}  // namespace muster::core
