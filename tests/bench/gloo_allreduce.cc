// The all-reduce of a Communicator against that of bare Gloo, with the same algorithm, in the same
// processor's time: ranks are threads, and each rank takes turns between the two.
//
//   bazel run //tests/bench:gloo_allreduce -- [rounds]
//
// Prints, for each number of ranks and size: the medians, the median of the rounds' ratios
// (Communicator / bare; 1.00 is the floor), the ratios' 10th and 90th percentile, and the shortest
// round of each, which other load on the machine disturbs least.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "gloo/allreduce.h"
#include "gloo/math.h"
#include "gloo/rendezvous/context.h"
#include "gloo/rendezvous/hash_store.h"
#include "gloo/transport/tcp/device.h"
#include "muster/communicator.h"
#include "tests/util/fake_job.h"

namespace muster {
namespace {

constexpr int kRankCounts[] = {2, 4};
constexpr size_t kByteCounts[] = {4, 1 << 10, 16 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20};

std::shared_ptr<gloo::Context> ConnectBare(int rank, int size, gloo::rendezvous::Store* store) {
  gloo::transport::tcp::attr attr("127.0.0.1");
  std::shared_ptr<gloo::transport::Device> device = gloo::transport::tcp::CreateDevice(attr);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
  context->connectFullMesh(*store, device);
  return context;
}

void BareAllReduce(const std::shared_ptr<gloo::Context>& context, std::vector<float>* data,
                   uint32_t tag) {
  gloo::AllreduceOptions options(context);
  options.setOutput(data->data(), data->size());
  options.setReduceFunction(
      static_cast<void (*)(void*, const void*, const void*, size_t)>(&gloo::sum<float>));
  options.setTag(tag);
  gloo::allreduce(options);
}

// Microseconds that one of `repeats` calls takes.
template <class F>
double Time(int repeats, F&& call) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < repeats; ++i) call();
  const std::chrono::duration<double, std::micro> elapsed =
      std::chrono::steady_clock::now() - start;
  return elapsed.count() / repeats;
}

double Percentile(std::vector<double> values, double fraction) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(fraction * static_cast<double>(values.size() - 1))];
}

struct Series {
  std::vector<double> muster, bare, ratio;
};

void Print(int ranks, size_t bytes, const Series& series) {
  const double muster_best = Percentile(series.muster, 0);
  const double bare_best = Percentile(series.bare, 0);
  std::printf("%5d %10zu %10.1f %10.1f %7.3f   %.3f - %.3f %10.1f %10.1f %7.3f\n", ranks, bytes,
              Percentile(series.muster, 0.5), Percentile(series.bare, 0.5),
              Percentile(series.ratio, 0.5), Percentile(series.ratio, 0.1),
              Percentile(series.ratio, 0.9), muster_best, bare_best, muster_best / bare_best);
  std::fflush(stdout);
}

[[noreturn]] void Die(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

class Rank {
 public:
  Rank(const Group& world, gloo::rendezvous::Store* store)
      : bare_(ConnectBare(world.rank(), world.size(), store)) {
    absl::StatusOr<std::unique_ptr<Communicator>> comm = Communicator::Create(world);
    if (!comm.ok()) Die(comm.status());
    comm_ = *std::move(comm);
  }

  Series Measure(size_t bytes, int rounds) {
    std::vector<float> data(bytes / sizeof(float));
    const int repeats = static_cast<int>(std::clamp<size_t>((1 << 20) / bytes, 1, 20));
    const auto muster = [&] {
      const absl::Status status = comm_->AllReduce(absl::MakeSpan(data));
      if (!status.ok()) Die(status);
    };
    const auto bare = [&] { BareAllReduce(bare_, &data, tag_++); };
    Series series;
    for (int round = -1; round < rounds; ++round) {
      // Which of the two is first changes from round to round.
      double muster_us = round % 2 == 0 ? Time(repeats, muster) : 0;
      const double bare_us = Time(repeats, bare);
      if (round % 2 != 0) muster_us = Time(repeats, muster);
      if (round < 0) continue;  // to warm up
      series.muster.push_back(muster_us);
      series.bare.push_back(bare_us);
      series.ratio.push_back(muster_us / bare_us);
    }
    return series;
  }

 private:
  std::shared_ptr<gloo::Context> bare_;
  std::unique_ptr<Communicator> comm_;
  uint32_t tag_ = 0;
};

void MeasureRanks(int ranks, int rounds) {
  testing::FakeJob job(ranks);
  gloo::rendezvous::HashStore store;
  job.Run([&](int rank, const Group& world) {
    Rank self(world, &store);
    for (size_t bytes : kByteCounts) {
      const Series series = self.Measure(bytes, rounds);
      if (rank == 0) Print(ranks, bytes, series);
    }
  });
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 60;
  if (rounds < 1) {
    std::fprintf(stderr, "usage: %s [rounds]; rounds is at least 1\n", argv[0]);
    return 2;
  }
  std::printf("%5s %10s %10s %10s %7s   %13s %10s %10s %7s\n", "ranks", "bytes", "muster us",
              "bare us", "ratio", "10% - 90%", "best: ours", "bare", "ratio");
  for (int ranks : muster::kRankCounts) muster::MeasureRanks(ranks, rounds);
  return 0;
}
