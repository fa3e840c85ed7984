#ifndef MUSTER_TESTS_UTIL_STATUS_READER_H_
#define MUSTER_TESTS_UTIL_STATUS_READER_H_

#include <functional>
#include <memory>
#include <string>

#include "muster/v1/coordinator.pb.h"

namespace muster::testing {

// Asks a daemon for its job's status, as `muster status` does.
class StatusReader {
 public:
  explicit StatusReader(const std::string& coordinator);
  ~StatusReader();

  // Waits for a daemon that does not answer yet; a test failure, and an empty answer, if it never
  // does.
  v1::GetStatusResponse Get();

  // Asks until `condition` holds. False, and a test failure that shows the last answer, if it never
  // does.
  bool WaitFor(const std::function<bool(const v1::GetStatusResponse&)>& condition);

  // Asks until so many members wait in a call that has `operation` in its words: "Barrier",
  // "Leave".
  bool WaitForParked(int members, const std::string& operation = "");
  bool WaitForState(v1::JobState state);

 private:
  struct Stub;
  std::unique_ptr<Stub> stub_;
};

}  // namespace muster::testing

#endif  // MUSTER_TESTS_UTIL_STATUS_READER_H_
