#ifndef MUSTER_TESTS_CLIENT_DAEMON_JOBS_H_
#define MUSTER_TESTS_CLIENT_DAEMON_JOBS_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "muster/job.h"
#include "tests/util/daemon.h"

namespace muster::testing {

// Options that reach `coordinator`, with time-outs for tests.
JobOptions OptionsFor(const std::string& coordinator);

// A daemon and the members of its job, which are threads of this process.
class Jobs {
 public:
  // Joins `size` members. `flags` are musterd's; `adjust` may change a member's options, where the
  // index is the rank that it gets.
  explicit Jobs(int size, const std::vector<std::string>& flags = {},
                const std::function<void(int index, JobOptions*)>& adjust = nullptr);
  // The same through an address of the caller, to a daemon of the caller.
  Jobs(const std::string& coordinator, int size,
       const std::function<void(int index, JobOptions*)>& adjust = nullptr);

  Job& operator[](int rank) { return *jobs_[rank]; }
  int size() const { return static_cast<int>(jobs_.size()); }
  TestDaemon& daemon() { return *daemon_; }

  // Waits until the daemon sees so many members wait in a call that has `operation` in its words.
  // False, and a test failure, if it never does.
  bool AwaitParked(int members, const std::string& operation);

  // Kills the daemon (SIGKILL) and starts another one with the same flags on the same port.
  void KillDaemon();
  void StartDaemonAgain();

  // Ends a member without leaving, as if its process had died.
  void Destroy(int rank) { jobs_[rank].reset(); }

  // What `call` returns on each rank, when all have called it.
  template <class F>
  auto OnAll(F call) {
    using Result = decltype(call(std::declval<Job&>()));
    std::vector<std::unique_ptr<Result>> results(jobs_.size());
    Run([&](int rank, Job& job) { results[rank] = std::make_unique<Result>(call(job)); });
    std::vector<Result> values;
    for (auto& result : results) values.push_back(std::move(*result));
    return values;
  }

  // Calls `body` for each rank on a thread of its own, and waits for all.
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
