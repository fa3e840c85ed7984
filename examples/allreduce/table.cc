#include "examples/allreduce/table.h"

#include <iostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace allreduce {
namespace {

// Flushes, so that each line is visible at once.
void Print(const std::string& line) { std::cout << line << std::endl; }

}  // namespace

double AlgorithmBandwidth(const Work& work, const Measurement& measurement) {
  return static_cast<double>(Bytes(work)) / measurement.microseconds / 1e3;
}

double BusBandwidth(const Work& work, const Measurement& measurement) {
  return AlgorithmBandwidth(work, measurement) * BusFactor(work);
}

void PrintHead(const muster::Job& job, const Plane& plane, const Flags& flags) {
  Print(absl::StrFormat("# %s on %d rank(s), %d node(s); %s, buffers in the memory of: %s",
                        NameOf(flags.collective), job.world_size(), job.num_nodes(),
                        plane.backend(), plane.memory()));
  Print(absl::StrFormat("# %d warm-up and %d measured operations of each size", flags.warmup,
                        flags.iterations));
  Print(absl::StrFormat("#%12s %12s %9s %7s %12s %10s %10s %8s", "size", "count", "type", "redop",
                        "time", "algbw", "busbw", "wrong"));
  Print(absl::StrFormat("#%12s %12s %9s %7s %12s %10s %10s %8s", "(bytes)", "(elements)", "", "",
                        "(us)", "(GB/s)", "(GB/s)", ""));
}

void PrintRow(const Work& work, const Measurement& measurement) {
  const std::string wrong = measurement.wrong ? absl::StrCat(*measurement.wrong) : "-";
  Print(absl::StrFormat(" %12d %12d %9s %7s %12.2f %10.3f %10.3f %8s", Bytes(work), work.count,
                        NameOf(work.type), Reduces(work.collective) ? NameOf(work.op) : "none",
                        measurement.microseconds, AlgorithmBandwidth(work, measurement),
                        BusBandwidth(work, measurement), wrong));
}

void PrintSummary(double mean_bus_bandwidth, int64_t wrong) {
  Print(absl::StrFormat("# mean bus bandwidth %.3f GB/s, %d wrong values", mean_bus_bandwidth,
                        wrong));
}

}  // namespace allreduce
