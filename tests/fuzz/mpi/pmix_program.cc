#include "tests/fuzz/mpi/pmix_program.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/fuzz/mpi/promise.h"

namespace muster::fuzz {
namespace {

bool Contains(const FenceRanks& ranks, int rank) {
  return ranks.empty() || std::count(ranks.begin(), ranks.end(), rank) > 0;
}

}  // namespace

PmixRecord::PmixRecord(const MpiWorld* the_world) : world(the_world) {
  constexpr int kMostFences = 4;
  for (size_t count = world->bytes->Below(kMostFences); count > 0; --count) {
    FenceRanks ranks;
    const uint8_t chosen = world->bytes->Byte();
    for (int rank = 0; rank < world->size(); ++rank) {
      if (world->honest[rank] && (chosen >> rank % 8 & 1) != 0) ranks.push_back(rank);
    }
    fences.push_back(ranks);
  }
  fences.emplace_back();  // all come before any of them leaves
}

std::string PmixRecord::ContributionOf(int rank, const FenceRanks& ranks, int number) {
  return absl::StrCat("<", rank, " of ", absl::StrJoin(ranks, ","), ", ", number, "\n", ">");
}

std::string PmixRecord::DataOf(int rank) {
  return absl::StrCat("data\n of \x1b ", rank, std::string(rank % 4, '\0'));
}

// ---- The program ----

bool PmixProgram::TakesPart() const { return Contains(record_->fences[fence_], rank_); }

std::optional<PmixProgram::Next> PmixProgram::TakeNext() {
  if (waits_ || done_) return std::nullopt;
  waits_ = true;
  switch (call_) {
    case Call::kFence: {
      const FenceRanks& ranks = record_->fences[fence_];
      return Next{call_, ranks, PmixRecord::ContributionOf(rank_, ranks, ++numbers_[ranks])};
    }
    case Call::kModex:
      return Next{call_, {}, {}, asked_};
    default:
      return Next{call_};
  }
}

void PmixProgram::Receive(bool accepted, const std::string& data) {
  Require(waits_ && !done_, "an answer comes to a call, and only one");
  waits_ = false;
  const MpiWorld& world = *record_->world;
  Require(accepted || (call_ == Call::kModex && !world.undisturbed()),
          "the call of an honest rank is accepted");
  switch (call_) {
    case Call::kInit:
      break;
    case Call::kFence:
      CheckFence(data);
      asked_ = (rank_ + static_cast<int>(fence_) + 1) % world.size();
      ++fence_;
      // The data of a rank of this node are libpmix's.
      if (fence_ < record_->fences.size() && world.NodeOf(asked_) != world.NodeOf(rank_)) {
        call_ = Call::kModex;
        return;
      }
      break;
    case Call::kModex:
      Require(!accepted || world.hostile_keys || data == PmixRecord::DataOf(asked_),
              "the data of a rank come as they are");
      break;
    case Call::kFinalize:
      done_ = true;
      return;
  }
  while (fence_ < record_->fences.size() && !TakesPart()) ++fence_;
  call_ = fence_ < record_->fences.size() ? Call::kFence : Call::kFinalize;
}

void PmixProgram::CheckFence(const std::string& data) const {
  const MpiWorld& world = *record_->world;
  const FenceRanks& ranks = record_->fences[fence_];
  const int number = numbers_.at(ranks);
  size_t size = 0;
  bool all_are_honest = true;
  for (int rank = 0; rank < world.size(); ++rank) {
    if (!Contains(ranks, rank)) continue;
    const auto entered = record_->entered.at(ranks).find(rank);
    const bool has_come = entered != record_->entered.at(ranks).end() && entered->second >= number;
    Require(has_come || world.hostile_keys, "a fence ends when every rank has come");
    all_are_honest = all_are_honest && world.honest[rank];
    if (!world.honest[rank] || world.hostile_keys) continue;
    const std::string contribution = PmixRecord::ContributionOf(rank, ranks, number);
    Require(absl::StrContains(data, contribution), "a fence brings what each rank contributes");
    size += contribution.size();
  }
  Require(!all_are_honest || world.hostile_keys || data.size() == size,
          "a fence brings nothing else");
}

}  // namespace muster::fuzz
