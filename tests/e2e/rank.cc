// One rank of the end-to-end tests. Joins, calls every primitive once, checks the values, leaves
// and says that it is done; or prints the error and ends with status 3.

#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "muster/communicator.h"
#include "muster/job.h"

namespace {

constexpr int kError = 3;

struct Sample {
  int rank;
  double value;
};

absl::Status Expect(bool condition, absl::string_view what) {
  return condition ? absl::OkStatus() : absl::DataLossError(absl::StrCat("wrong result: ", what));
}

#define RETURN_IF_ERROR(expression) \
  if (absl::Status status = (expression); !status.ok()) return status

absl::Status SmallObjects(muster::Job& job) {
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

absl::Status Groups(muster::Job& job) {
  std::vector<int> node;
  for (const muster::Member& member : job.members()) {
    if (member.node_rank == job.node_rank()) node.push_back(member.rank);
  }
  auto group = job.NewGroup("node", node);
  RETURN_IF_ERROR(group.status());
  auto ranks = group->AllGather(job.rank());
  RETURN_IF_ERROR(ranks.status());
  return Expect(*ranks == node, "AllGather of the node");
}

absl::Status Leases(muster::Job& job) {
  auto runner = job.RunOncePerNode("prepare", [&] { return job.rank(); });
  RETURN_IF_ERROR(runner.status());
  const muster::Member& member = job.members()[*runner];
  RETURN_IF_ERROR(Expect(member.node_rank == job.node_rank(), "RunOncePerNode"));
  auto main = job.RunOnMain([&] { return absl::StrCat("rank ", job.rank()); });
  RETURN_IF_ERROR(main.status());
  return Expect(*main == "rank 0", "RunOnMain");
}

absl::Status Tensors(muster::Job& job) {
  auto communicator = muster::Communicator::Create(job);
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

absl::Status All(muster::Job& job) {
  RETURN_IF_ERROR(SmallObjects(job));
  RETURN_IF_ERROR(Groups(job));
  RETURN_IF_ERROR(Leases(job));
  RETURN_IF_ERROR(Tensors(job));
  return job.Leave();
}

}  // namespace

int main() {
  auto job = muster::Job::Join(muster::JobOptions::FromEnvironment());
  const absl::Status status = job.ok() ? All(**job) : job.status();
  if (!status.ok()) {
    std::cout << "error: " << status << std::endl;
    return kError;
  }
  std::cout << "rank " << (*job)->rank() << " of " << (*job)->world_size() << " is done"
            << std::endl;
  return 0;
}
