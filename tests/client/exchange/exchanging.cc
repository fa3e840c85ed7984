// One rank of the tests of exchanges. The first argument says what it does, the second, if any, is
// the folder. The first of the exchange's ranks is always the last rank of the world.
//
//   configs      every rank but those with rank % 4 == 2 offers a configuration
//   tensors      every rank offers a tensor
//   unequal      rank 1's tensor is longer
//   malformed    rank 1's configuration is not JSON
//   lists        rank 1 names other ranks
//   too-large    rank 0's tensor is larger than /dev/shm
//   killed-before, killed-inside   rank 0 is killed before, or inside, the scope

#include <signal.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "muster/job.h"
#include "muster/parallel_exchange.h"

namespace {

using muster::Configuration;
using muster::Job;

void Print(const std::string& text) { std::cout << absl::StrCat(text, "\n") << std::flush; }

// Last rank first.
std::vector<int> Reversed(const Job& job) {
  std::vector<int> ranks;
  for (int rank = job.world_size() - 1; rank >= 0; --rank) ranks.push_back(rank);
  return ranks;
}

std::string Describe(const std::optional<Configuration>& configuration) {
  if (!configuration) return "nothing";
  std::string text = configuration->json;
  for (const auto& [name, tensor] : configuration->tensors) {
    const auto values = tensor.As<double>();
    absl::StrAppend(&text, " ", name, "=",
                    values.ok() ? absl::StrJoin(*values, ",") : values.status().ToString());
  }
  return text;
}

absl::Status Configs(Job& job, const std::string& folder, bool malformed, bool dies_before) {
  const std::vector<double> data(job.rank() + 1, job.rank() + 0.5);
  std::optional<Configuration> mine;
  if (job.rank() % 4 != 2) {
    mine = Configuration{
        absl::StrCat("{\"rank\":", job.rank(), "}"), {{"w", muster::ViewOf(data)}}, nullptr};
  }
  if (malformed && job.rank() == 1) mine->json = "{";
  if (dies_before && job.rank() == 0) raise(SIGKILL);
  muster::ExchangeOptions options;
  options.folder = folder;
  auto exchange = muster::GetConfigsParallel(mine, Reversed(job), job.world(), options);
  if (!exchange.ok()) return exchange.status();
  for (const auto& value : exchange->values()) {
    Print(absl::StrCat("rank ", job.rank(), " sees ", Describe(value)));
  }
  Print(absl::StrCat("rank ", job.rank(), " sees ", exchange->values().size()));
  return exchange->Release();
}

absl::Status Tensors(Job& job, bool unequal, const std::vector<int>& ranks) {
  const int length = unequal && job.rank() == 1 ? 4 : 3;
  const std::vector<int32_t> data(length, job.rank());
  auto exchange = muster::GetTensorsParallel(muster::ViewOf(data), ranks, job.world());
  if (!exchange.ok()) return exchange.status();
  for (const muster::TensorView& tensor : exchange->values()) {
    const auto values = tensor.As<int32_t>();
    if (!values.ok()) return values.status();
    Print(absl::StrCat("rank ", job.rank(), " sees ", absl::StrJoin(*values, ",")));
  }
  Print(absl::StrCat("rank ", job.rank(), " sees ", exchange->values().size()));
  return absl::OkStatus();  // the destructor ends the scope
}

absl::Status KilledInside(Job& job) {
  const std::vector<uint8_t> data(16 << 20, 7);
  auto exchange = muster::GetTensorsParallel(muster::ViewOf(data), Reversed(job), job.world());
  if (!exchange.ok()) return exchange.status();
  if (job.rank() == 0) raise(SIGKILL);
  if (job.rank() == job.world_size() - 1) {
    const absl::Status lost = job.AwaitFailure(absl::Minutes(1));
    Print(absl::StrCat("after the loss: ", exchange->values().back().As<uint8_t>()->back()));
  }
  return exchange->Release();
}

absl::Status TooLarge(Job& job) {
  struct statvfs info;
  statvfs("/dev/shm", &info);
  const size_t size = info.f_blocks * info.f_frsize + (1 << 20);
  void* const data =
      mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  const muster::TensorView tensor = {
      muster::DataType::kUint8, {static_cast<int64_t>(size)}, data, size};
  return muster::GetTensorsParallel(tensor, Reversed(job), job.world()).status();
}

absl::Status Run(Job& job, const std::string& what, const std::string& folder) {
  if (what == "tensors") return Tensors(job, false, Reversed(job));
  if (what == "unequal") return Tensors(job, true, Reversed(job));
  if (what == "lists") {
    return Tensors(job, false, job.rank() == 1 ? std::vector<int>{1} : Reversed(job));
  }
  if (what == "killed-inside") return KilledInside(job);
  if (what == "too-large") return TooLarge(job);
  return Configs(job, folder, what == "malformed", what == "killed-before");
}

}  // namespace

int main(int argc, char** argv) {
  const auto job = Job::Join(muster::JobOptions::FromEnvironment());
  absl::Status status = job.ok() ? Run(**job, argv[1], argc > 2 ? argv[2] : "") : job.status();
  if (status.ok()) status = (*job)->Leave();
  if (status.ok()) return 0;
  Print(absl::StrCat("error: ", status.ToString()));
  return 3;
}
