#ifndef MUSTER_TESTS_UTIL_JOB_STATUS_READER_H_
#define MUSTER_TESTS_UTIL_JOB_STATUS_READER_H_

#include <functional>
#include <memory>
#include <string>

#include "muster/v1/coordinator.pb.h"

namespace muster::testing {

// A client that asks a daemon for its job's status, as `muster status` does.
class StatusReader {
 public:
  explicit StatusReader(const std::string& coordinator);
  ~StatusReader();

  // Returns the status, and waits for a daemon that does not answer yet. If it never answers, fails
  // the test and returns an empty answer.
  v1::GetStatusResponse Get();

  // Asks until `condition` holds. If it never does, fails the test with the last answer, and
  // returns false.
  bool WaitFor(const std::function<bool(const v1::GetStatusResponse&)>& condition);

  // Asks until `members` members wait in calls whose description contains `operation`: "Barrier",
  // "Leave".
  bool WaitForParked(int members, const std::string& operation = "");
  bool WaitForState(v1::JobState state);

 private:
  struct Stub;
  std::unique_ptr<Stub> stub_;
};

}  // namespace muster::testing

#endif  // MUSTER_TESTS_UTIL_JOB_STATUS_READER_H_
