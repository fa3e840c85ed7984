#ifndef MUSTER_TESTS_UTIL_FAKES_PAIR_CONTROL_PLANE_H_
#define MUSTER_TESTS_UTIL_FAKES_PAIR_CONTROL_PLANE_H_

#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/src/group/group_state.h"
#include "tests/util/fakes/stub_control_plane.h"

namespace muster::testing {

// A job of two processes on one node, which talk over a socket. The test sets the result of
// AwaitFailure().
class PairControlPlane final : public StubControlPlane {
 public:
  PairControlPlane(int rank, int socket)
      : StubControlPlane("pair", {Member{0, 0, 0, "a", "host", 1}, Member{1, 1, 0, "a", "host", 2}},
                         rank),
        socket_(socket) {}

  void set_failure(absl::Status failure) { failure_ = std::move(failure); }

  absl::Status AwaitFailure(absl::Duration) const override { return failure_; }

  absl::StatusOr<std::vector<std::string>> RunCollective(const std::string&,
                                                         const std::vector<int>&,
                                                         internal::CollectiveCall call,
                                                         const CallOptions&) override {
    std::string theirs(64 << 10, '\0');
    if (write(socket_, call.payload.data(), call.payload.size()) < 0) {
      return absl::InternalError("write");
    }
    const ssize_t got = read(socket_, theirs.data(), theirs.size());
    if (got <= 0) return absl::InternalError("read");
    theirs.resize(got);
    if (rank() == 0) return std::vector<std::string>{call.payload, theirs};
    return std::vector<std::string>{theirs, call.payload};
  }

 private:
  const int socket_;
  absl::Status failure_;
};

inline Group WorldOf(std::shared_ptr<internal::ControlPlane> control) {
  auto state = std::make_shared<internal::GroupState>();
  state->ranks = {0, 1};
  state->rank = control->rank();
  state->control = std::move(control);
  return Group(std::move(state));
}

}  // namespace muster::testing

#endif  // MUSTER_TESTS_UTIL_FAKES_PAIR_CONTROL_PLANE_H_
