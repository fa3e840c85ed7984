#ifndef MUSTER_TESTS_CLIENT_DAEMON_JOBS_H_
#define MUSTER_TESTS_CLIENT_DAEMON_JOBS_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "muster/job.h"
#include "tests/util/job/daemon.h"

namespace muster::testing {

// Returns options to reach `coordinator`, with time-outs for tests.
JobOptions OptionsFor(const std::string& coordinator);

// A daemon and the members of its job, which are threads of this process.
//
//   Jobs jobs(2);
//   jobs.Run([](int rank, Job& job) { EXPECT_TRUE(job.Barrier("x").ok()); });
class Jobs {
 public:
  // Starts a daemon with `flags`, and joins `size` members. `adjust` may change a member's options;
  // its first argument is the rank that the member gets.
  explicit Jobs(int size, const std::vector<std::string>& flags = {},
                const std::function<void(int index, JobOptions*)>& adjust = nullptr);
  // Joins the members at a daemon that the caller runs, by an address of the caller's choice.
  Jobs(const std::string& coordinator, int size,
       const std::function<void(int index, JobOptions*)>& adjust = nullptr);

  Job& operator[](int rank) { return *jobs_[rank]; }
  int size() const { return static_cast<int>(jobs_.size()); }
  TestDaemon& daemon() { return *daemon_; }

  // Waits until the daemon sees `members` members wait in calls whose description contains
  // `operation`. If that never happens, fails the test and returns false.
  bool AwaitParked(int members, const std::string& operation);

  // Kills the daemon (SIGKILL), and starts another with the same flags on the same port.
  void KillDaemon();
  void StartDaemonAgain();

  // Ends a member without Leave(), as if its process had died.
  void Destroy(int rank) { jobs_[rank].reset(); }

  // Calls `call` on all ranks at the same time. Blocks until all have returned, and returns the
  // results by rank.
  template <class F>
  auto OnAll(F call) {
    using Result = decltype(call(std::declval<Job&>()));
    std::vector<std::unique_ptr<Result>> results(jobs_.size());
    Run([&](int rank, Job& job) { results[rank] = std::make_unique<Result>(call(job)); });
    std::vector<Result> values;
    for (auto& result : results) values.push_back(std::move(*result));
    return values;
  }

  // Calls `body` for each rank on its own thread, and waits for all of them.
  void Run(const std::function<void(int rank, Job& job)>& body);

 private:
  void Join(const std::string& coordinator, int size,
            const std::function<void(int index, JobOptions*)>& adjust);

  std::unique_ptr<TestDaemon> daemon_;
  std::vector<std::unique_ptr<Job>> jobs_;
};

std::string Message(const absl::Status& status);
template <class T>
std::string Message(const absl::StatusOr<T>& value) {
  return Message(value.status());
}

}  // namespace muster::testing

#endif  // MUSTER_TESTS_CLIENT_DAEMON_JOBS_H_
