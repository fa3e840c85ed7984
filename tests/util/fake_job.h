#ifndef MUSTER_TESTS_UTIL_FAKE_JOB_H_
#define MUSTER_TESTS_UTIL_FAKE_JOB_H_

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
  // What Group::local_address() says.
  std::string local_address = "127.0.0.1";
  absl::Duration timeout = absl::Seconds(60);
  // All ranks are on one node and have the pid 1, as in containers.
  bool one_pid = false;
  // Rank r is on "node-N", N being nodes[r]; empty: each is on one of its own, "node-r".
  std::vector<int> nodes = {};
};

// A job whose ranks are threads of this process and whose coordinator is memory they share. Rank r
// has the pid 1000 + r. Of the collectives it has AllGather.
class FakeJob {
 public:
  explicit FakeJob(const FakeJobOptions& options);
  explicit FakeJob(int size);
  // As many ranks as there are `nodes`, each on one of them.
  static FakeJobOptions OnNodes(std::vector<int> nodes);
  ~FakeJob();

  int size() const;

  // All ranks, as `rank` sees them.
  Group world(int rank);
  // Some of them, as `rank`, one of them, does.
  Group group(int rank, const std::string& name, const std::vector<int>& ranks);

  // Calls `body` for each rank, on a thread of its own, and waits for all.
  void Run(const std::function<void(int rank, const Group& world)>& body);
  void RunRanks(const std::vector<int>& ranks,
                const std::function<void(int rank, const Group& world)>& body);

  // The coordinator finds out that `rank` is lost, and tells every rank.
  void Lose(int rank);
  // What it tells them.
  static absl::Status LossOf(int rank);

  // Number of AllGathers that have completed.
  int completed_collectives() const;

 private:
  class ControlPlane;
  struct State;

  std::shared_ptr<State> state_;
  std::vector<std::shared_ptr<ControlPlane>> ranks_;
};

}  // namespace muster::testing

#endif  // MUSTER_TESTS_UTIL_FAKE_JOB_H_
