#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/gpu/checks/bare.h"
#include "tests/gpu/checks/gpu_checks.h"
#include "tests/gpu/checks/statistics.h"
#include "tests/gpu/checks/typed.h"

namespace muster::gpu {
namespace {

// Muster does more than bare NCCL: it compares the ranks' devices, and waits for all ranks before
// NCCL begins, so that it can name a missing rank. That may cost a tenth, and a few round trips to
// the coordinator.
constexpr double kLimitRatio = 1.1;
constexpr double kLimitMilliseconds = 20;

// Returns the milliseconds from the moment when all ranks are ready until the slowest has what
// `make` returns.
template <class F>
absl::StatusOr<double> Time(const Job& job, F&& make) {
  RETURN_IF_ERROR(job.Barrier("bootstrap"));
  const absl::Time start = absl::Now();
  const auto made = make();
  const double own = absl::ToDoubleMilliseconds(absl::Now() - start);
  if (!made.ok()) return made.status();
  const absl::StatusOr<std::vector<double>> all = job.AllGather(own);
  if (!all.ok()) return all.status();
  return *std::max_element(all->begin(), all->end());
}

struct Pair {
  double muster = 0;
  double bare = 0;
};

absl::StatusOr<Pair> TimePair(const Job& job, const std::string& id_file, bool muster_first) {
  const auto muster = [&] { return Time(job, [&] { return NcclCommunicator::Create(job); }); };
  const auto bare = [&] {
    return Time(job, [&] { return ConnectBare(job.rank(), job.world_size(), id_file); });
  };
  absl::StatusOr<double> muster_time = 0;
  if (muster_first) muster_time = muster();
  const absl::StatusOr<double> bare_time = bare();
  if (!muster_first) muster_time = muster();
  if (!muster_time.ok()) return muster_time.status();
  if (!bare_time.ok()) return bare_time.status();
  return Pair{*muster_time, *bare_time};
}

absl::Status Judge(double muster, double bare) {
  if (muster <= kLimitRatio * bare + kLimitMilliseconds) return absl::OkStatus();
  return absl::InternalError(absl::StrFormat("the limit is %.1f times bare NCCL and %.0f ms",
                                             kLimitRatio, kLimitMilliseconds));
}

}  // namespace

absl::Status CheckBootstrap(Job& job, const RankFlags& flags) {
  const int rounds = std::max(2, flags.rounds / 10);
  std::vector<double> muster;
  std::vector<double> bare;
  for (int round = -1; round < rounds; ++round) {
    const std::string id_file = absl::StrCat(flags.scratch, "/id-", round);
    // Muster begins, since its Create() makes this rank's GPU current for bare NCCL too.
    const absl::StatusOr<Pair> pair = TimePair(job, id_file, round % 2 != 0);
    if (!pair.ok()) return pair.status();
    if (round < 0) continue;  // libraries are loaded at first use
    muster.push_back(pair->muster);
    bare.push_back(pair->bare);
  }
  const std::vector<double> ratios = Ratios(muster, bare);
  if (job.is_main()) {
    std::cout
        << absl::StrFormat(
               "Create %.1f ms, bare NCCL with a file %.1f ms, ratio %.3f (10%% to 90%%: %.3f "
               "to %.3f; %d pairs)",
               Median(muster), Median(bare), Median(ratios), Percentile(ratios, 0.1),
               Percentile(ratios, 0.9), rounds)
        << std::endl;
  }
  return flags.judge ? Judge(Median(muster), Median(bare)) : absl::OkStatus();
}

}  // namespace muster::gpu
