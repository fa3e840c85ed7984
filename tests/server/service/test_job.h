#ifndef MUSTER_TESTS_SERVER_SERVICE_TEST_JOB_H_
#define MUSTER_TESTS_SERVER_SERVICE_TEST_JOB_H_

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/service/server.h"
#include "tests/server/service/test_member.h"

namespace muster::testing {

inline const absl::Status& ToStatus(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& ToStatus(const absl::StatusOr<T>& result) {
  return result.status();
}

// Matches an absl::Status or StatusOr.
MATCHER_P2(StatusIs, code, message, "") {
  const absl::Status status = ToStatus(arg);
  return ::testing::ExplainMatchResult(code, status.code(), result_listener) &&
         ::testing::ExplainMatchResult(message, std::string(status.message()), result_listener);
}
MATCHER(IsOk, "") {
  *result_listener << ToStatus(arg);
  return ToStatus(arg).ok();
}

// Returns server options for tests: any free port, and a short grace.
service::ServerOptions TestOptions();

// Starts a server, or fails the test.
std::unique_ptr<service::Server> StartServer(service::ServerOptions options = TestOptions());

// The members of a job, in rank order. All have attached and joined.
class TestJob {
 public:
  TestJob(const std::string& address, int world_size,
          const TestMember::Options& options = TestMember::Options());

  TestMember& operator[](int rank) { return *members_[rank]; }
  int size() const { return static_cast<int>(members_.size()); }

  // Calls f(member) for all members at once, each on its own thread. Returns the results in rank
  // order.
  template <typename F>
  auto All(F f) {
    std::vector<std::future<decltype(f(*members_[0]))>> calls;
    for (auto& member : members_) {
      calls.push_back(std::async(std::launch::async, [&f, &member] { return f(*member); }));
    }
    std::vector<decltype(f(*members_[0]))> results;
    for (auto& call : calls) results.push_back(call.get());
    return results;
  }

 private:
  std::vector<std::unique_ptr<TestMember>> members_;
};

}  // namespace muster::testing

#endif  // MUSTER_TESTS_SERVER_SERVICE_TEST_JOB_H_
