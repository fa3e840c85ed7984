#include "tests/server/core/random/random_program.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace muster::core {

RandomProgram::RandomProgram(uint32_t size, std::mt19937_64* random) : size_(size) {
  constexpr int kOps = 40;
  const auto pick = [random](uint32_t n) {
    return std::uniform_int_distribution<uint32_t>(0, n - 1)(*random);
  };
  for (uint32_t r = 0; r < size_; ++r) sub_.push_back(size_ - 1 - r);
  if (size_ > 2) sub_.pop_back();
  ops_ = {{"", {}}, {"sub", {}}};
  for (int i = 0; i < kOps; ++i) {
    const std::string group = pick(3) == 0 ? "sub" : "";
    const uint32_t members = group.empty() ? size_ : static_cast<uint32_t>(sub_.size());
    const auto kind = static_cast<CollectiveKind>(pick(4));
    const bool rooted = kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kGather;
    ops_[group].push_back({kind, rooted ? pick(members) : 0});
  }
}

std::vector<uint32_t> RandomProgram::Ranks(const std::string& group) const {
  if (!group.empty()) return sub_;
  std::vector<uint32_t> all;
  for (uint32_t r = 0; r < size_; ++r) all.push_back(r);
  return all;
}

bool RandomProgram::HasSub(uint32_t rank) const {
  return std::find(sub_.begin(), sub_.end(), rank) != sub_.end();
}

std::string RandomProgram::PayloadOf(uint32_t rank, const std::string& group,
                                     uint64_t sequence) const {
  const Op& op = OpsOf(group)[sequence];
  const bool sends = op.kind == CollectiveKind::kGather || op.kind == CollectiveKind::kAllGather ||
                     (op.kind == CollectiveKind::kBroadcast && Ranks(group)[op.root] == rank);
  return sends ? absl::StrCat(group, "/", sequence, "/", rank) : "";
}

std::vector<std::string> RandomProgram::Expected(uint32_t rank, const std::string& group,
                                                 uint64_t sequence) const {
  const Op& op = OpsOf(group)[sequence];
  const std::vector<uint32_t> ranks = Ranks(group);
  std::vector<std::string> payloads;
  if (op.kind == CollectiveKind::kBarrier) return payloads;
  if (op.kind == CollectiveKind::kBroadcast) return {PayloadOf(ranks[op.root], group, sequence)};
  if (op.kind == CollectiveKind::kGather && ranks[op.root] != rank) return payloads;
  for (uint32_t r : ranks) payloads.push_back(PayloadOf(r, group, sequence));
  return payloads;
}

}  // namespace muster::core
