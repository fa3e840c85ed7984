#ifndef MUSTER_TESTS_UTIL_FAKES_FAKE_JOB_H_
#define MUSTER_TESTS_UTIL_FAKES_FAKE_JOB_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "muster/group.h"

namespace muster::testing {

struct FakeJobOptions {
  int size = 1;
  // The result of Group::local_address().
  std::string local_address = "127.0.0.1";
  absl::Duration timeout = absl::Seconds(60);
  // Puts all ranks on one node, and gives all of them pid 1, as in containers.
  bool one_pid = false;
  // The node of rank r is "node-N", where N is nodes[r]. If empty, it is "node-r".
  std::vector<int> nodes = {};
};

// A job whose ranks are threads of this process. Shared memory stands in for the coordinator. Rank
// r has pid 1000 + r. AllGather is its only collective.
//
//   FakeJob job(3);
//   job.Run([](int rank, const Group& world) { ... });
class FakeJob {
 public:
  explicit FakeJob(const FakeJobOptions& options);
  explicit FakeJob(int size);
  // Returns options for one rank on each of `nodes`.
  static FakeJobOptions OnNodes(std::vector<int> nodes);
  ~FakeJob();

  int size() const;

  // Returns the group of all ranks, as `rank` sees it.
  Group world(int rank);
  // Returns a group of some ranks, as `rank` sees it, which must be one of them.
  Group group(int rank, const std::string& name, const std::vector<int>& ranks);

  // Calls `body` for each rank on its own thread, and waits for all of them.
  void Run(const std::function<void(int rank, const Group& world)>& body);
  void RunRanks(const std::vector<int>& ranks,
                const std::function<void(int rank, const Group& world)>& body);

  // Makes the coordinator notice that `rank` is lost, and tell every rank.
  void Lose(int rank);
  // Returns the error that the ranks get for the loss.
  static absl::Status LossOf(int rank);

  // Returns the number of AllGathers that have completed.
  int completed_collectives() const;

 private:
  class ControlPlane;
  struct State;

  std::shared_ptr<State> state_;
  std::vector<std::shared_ptr<ControlPlane>> ranks_;
};

}  // namespace muster::testing

#endif  // MUSTER_TESTS_UTIL_FAKES_FAKE_JOB_H_
