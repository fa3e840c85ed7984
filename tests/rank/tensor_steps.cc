// Steps that call helpers on tensors (muster/tensor_collectives.h).

#include <signal.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "muster/toolkits.h"
#include "tests/rank/interpreter.h"
#include "tests/rank/steps.h"

namespace muster::testing {
namespace {

using toolkits::AllGather;
using toolkits::AllReduce;
using toolkits::AverageAcrossProcesses;

// So many elements that other ranks are still busy when the first ones have changed.
constexpr size_t kMany = size_t{1} << 24;
// The number of watched elements, spread over all. One of them changes early.
constexpr size_t kSpots = 64;

absl::Status Reductions(Job& job) {
  const int n = job.world_size();
  std::vector<float> data(1001, job.rank() + 1.0f);
  RETURN_IF_ERROR(AllReduce(job, absl::MakeSpan(data)));
  const int sum = n * (n + 1) / 2;
  RETURN_IF_ERROR(Expect(data == std::vector<float>(1001, sum), "AllReduce"));
  const auto most = AllReduce(job, job.rank(), ReduceOp::kMax);
  RETURN_IF_ERROR(most.status());
  RETURN_IF_ERROR(Expect(*most == n - 1, "AllReduce of a number"));
  std::map<std::string, std::vector<double>> tensors = {{"a", {1.0 * job.rank()}}, {"b", {5, 6}}};
  RETURN_IF_ERROR(AverageAcrossProcesses(job, &tensors));
  return Expect(tensors["a"][0] == (n - 1) / 2.0 && tensors["b"][1] == 6, "the averages");
}

absl::Status ExpectRefused(const absl::Status& status, const std::string& text) {
  if (absl::IsInvalidArgument(status) && absl::StrContains(status.message(), text)) {
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat("not refused as it should be: ", status.ToString()));
}

// Runs `call` on `data`. The rank that must die watches its data, and kills itself once some of it
// changes.
absl::Status Killing(Job& job, int killed, std::vector<float>& data,
                     absl::FunctionRef<absl::Status()> call) {
  std::atomic<bool> ended{false};
  std::thread killer([&] {
    const volatile float* const seen = data.data();
    const float before = seen[0];
    for (size_t i = 0; job.rank() == killed && !ended; i = (i + kMany / kSpots) % kMany) {
      if (seen[i] != before) raise(SIGKILL);
    }
  });
  const absl::Status status = call();
  ended = true;
  killer.join();
  return status;
}

std::vector<float> Many(const Job& job) { return std::vector<float>(kMany, job.rank() + 1.0f); }

}  // namespace

absl::Status ReduceAndGather(Job& job) {
  RETURN_IF_ERROR(Reductions(job));
  const std::vector<int> mine = {job.rank(), 7};
  const auto whole = AllGather(job, ViewOf(mine, {1, 2}));
  RETURN_IF_ERROR(whole.status());
  RETURN_IF_ERROR(Expect(whole->view.shape[0] == job.world_size(), "AllGather's shape"));
  const auto elements = whole->view.As<int>();
  RETURN_IF_ERROR(elements.status());
  for (int rank = 0; rank < job.world_size(); ++rank) {
    RETURN_IF_ERROR(Expect((*elements)[2 * rank] == rank, "AllGather"));
  }
  return absl::OkStatus();
}

absl::Status Disagree(Job& job) {
  const int last = job.world_size() - 1;
  const bool differs = job.rank() == last;
  std::vector<float> data(differs ? 4 : 6);
  const std::string text = absl::StrCat("rank ", last, " passes ");
  RETURN_IF_ERROR(
      ExpectRefused(AllReduce(job, absl::MakeSpan(data)), absl::StrCat(text, "float32 [4] (sum)")));
  RETURN_IF_ERROR(ExpectRefused(AllGather(job, absl::MakeSpan(data)).status(),
                                absl::StrCat(text, "float32 [4]")));
  std::map<std::string, float> tensors = {{differs ? "mine" : "ours", 1}};
  return ExpectRefused(AverageAcrossProcesses(job, &tensors),
                       absl::StrCat(text, "float32 []; 'ours': "));
}

absl::Status AllReduceKilling(Job& job, int killed) {
  std::vector<float> data = Many(job);
  return Killing(job, killed, data, [&] { return AllReduce(job, absl::MakeSpan(data)); });
}

absl::Status AverageKilling(Job& job, int killed) {
  std::vector<float> data = Many(job);
  std::map<std::string, absl::Span<float>> tensors = {{"w", absl::MakeSpan(data)}};
  return Killing(job, killed, data, [&] { return AverageAcrossProcesses(job, &tensors); });
}

}  // namespace muster::testing
