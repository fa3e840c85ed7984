// Steps that exchange data between the ranks (muster/parallel_exchange.h). The last rank of the
// world is always the first rank of an exchange.

#include <signal.h>
#include <sys/mman.h>
#include <sys/statvfs.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "muster/parallel_exchange.h"
#include "tests/rank/interpreter.h"
#include "tests/rank/steps.h"

namespace muster::testing {
namespace {

// Returns all ranks, beginning with the last one.
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
    mine =
        Configuration{absl::StrCat("{\"rank\":", job.rank(), "}"), {{"w", ViewOf(data)}}, nullptr};
  }
  if (malformed && job.rank() == 1) mine->json = "{";
  if (dies_before && job.rank() == 0) raise(SIGKILL);
  ExchangeOptions options;
  options.folder = folder;
  auto exchange = GetConfigsParallel(mine, Reversed(job), job.world(), options);
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
  auto exchange = GetTensorsParallel(ViewOf(data), ranks, job.world());
  if (!exchange.ok()) return exchange.status();
  for (const TensorView& tensor : exchange->values()) {
    const auto values = tensor.As<int32_t>();
    if (!values.ok()) return values.status();
    Print(absl::StrCat("rank ", job.rank(), " sees ", absl::StrJoin(*values, ",")));
  }
  Print(absl::StrCat("rank ", job.rank(), " sees ", exchange->values().size()));
  return absl::OkStatus();  // the destructor ends the scope
}

absl::Status KilledInside(Job& job) {
  const std::vector<uint8_t> data(16 << 20, 7);
  auto exchange = GetTensorsParallel(ViewOf(data), Reversed(job), job.world());
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
  const TensorView tensor = {DataType::kUint8, {static_cast<int64_t>(size)}, data, size};
  return GetTensorsParallel(tensor, Reversed(job), job.world()).status();
}

// Returns a step whose argument is the folder.
Step Configs(bool malformed, bool dies_before) {
  return [=](Job& job, const std::string& folder) {
    return Configs(job, folder, malformed, dies_before);
  };
}

}  // namespace

Steps ExchangeSteps() {
  return {
      {"configs", Configs(false, false)},
      {"malformed", Configs(true, false)},
      {"killed-before", Configs(false, true)},
      {"killed-inside", [](Job& job, const std::string&) { return KilledInside(job); }},
      {"tensors-of-all",
       [](Job& job, const std::string&) { return Tensors(job, false, Reversed(job)); }},
      {"unequal", [](Job& job, const std::string&) { return Tensors(job, true, Reversed(job)); }},
      {"lists",
       [](Job& job, const std::string&) {
         return Tensors(job, false, job.rank() == 1 ? std::vector<int>{1} : Reversed(job));
       }},
      {"too-large", [](Job& job, const std::string&) { return TooLarge(job); }},
  };
}

}  // namespace muster::testing
