// Calls every primitive once, and checks its values.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "muster/communicator.h"
#include "tests/rank/interpreter.h"
#include "tests/rank/steps.h"

namespace muster::testing {
namespace {

struct Sample {
  int rank;
  double value;
};

absl::Status SmallObjects(Job& job) {
  const int n = job.world_size();
  RETURN_IF_ERROR(job.Barrier("start"));
  auto text = job.Broadcast(absl::StrCat("from ", job.rank()), n - 1);
  RETURN_IF_ERROR(text.status());
  RETURN_IF_ERROR(Expect(*text == absl::StrCat("from ", n - 1), "Broadcast"));
  auto samples = job.Gather(Sample{job.rank(), job.rank() * 0.5}, 0);
  RETURN_IF_ERROR(samples.status());
  RETURN_IF_ERROR(
      Expect(static_cast<int>(samples->size()) == (job.is_main() ? n : 0), "Gather's size"));
  for (int r = 0; r < static_cast<int>(samples->size()); ++r) {
    RETURN_IF_ERROR(Expect((*samples)[r].rank == r && (*samples)[r].value == r * 0.5, "Gather"));
  }
  auto lists = job.AllGather(std::vector<int64_t>(job.rank(), job.rank()));
  RETURN_IF_ERROR(lists.status());
  for (int r = 0; r < n; ++r) {
    RETURN_IF_ERROR(Expect((*lists)[r] == std::vector<int64_t>(r, r), "AllGather"));
  }
  return absl::OkStatus();
}

absl::Status Groups(Job& job) {
  std::vector<int> node;
  for (const Member& member : job.members()) {
    if (member.node_rank == job.node_rank()) node.push_back(member.rank);
  }
  auto group = job.NewGroup("node", node);
  RETURN_IF_ERROR(group.status());
  auto ranks = group->AllGather(job.rank());
  RETURN_IF_ERROR(ranks.status());
  return Expect(*ranks == node, "AllGather of the node");
}

absl::Status Leases(Job& job) {
  auto runner = job.RunOncePerNode("prepare", [&] { return job.rank(); });
  RETURN_IF_ERROR(runner.status());
  const Member& member = job.members()[*runner];
  RETURN_IF_ERROR(Expect(member.node_rank == job.node_rank(), "RunOncePerNode"));
  auto main = job.RunOnMain([&] { return absl::StrCat("rank ", job.rank()); });
  RETURN_IF_ERROR(main.status());
  return Expect(*main == "rank 0", "RunOnMain");
}

absl::Status Tensors(Job& job) {
  auto communicator = Communicator::Create(job);
  RETURN_IF_ERROR(communicator.status());
  const int n = job.world_size();
  std::vector<double> data(1001, job.rank() + 1.0);
  RETURN_IF_ERROR((*communicator)->AllReduce(absl::MakeSpan(data)));
  RETURN_IF_ERROR(Expect(data.back() == n * (n + 1) / 2.0, "AllReduce"));
  std::vector<int32_t> word(3, job.rank());
  RETURN_IF_ERROR((*communicator)->Broadcast(absl::MakeSpan(word), n - 1));
  RETURN_IF_ERROR(Expect(word[2] == n - 1, "Communicator::Broadcast"));
  return (*communicator)->Barrier();
}

}  // namespace

absl::Status EveryPrimitive(Job& job) {
  RETURN_IF_ERROR(SmallObjects(job));
  RETURN_IF_ERROR(Groups(job));
  RETURN_IF_ERROR(Leases(job));
  return Tensors(job);
}

}  // namespace muster::testing
