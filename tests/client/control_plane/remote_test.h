#ifndef MUSTER_TESTS_CLIENT_CONTROL_PLANE_REMOTE_TEST_H_
#define MUSTER_TESTS_CLIENT_CONTROL_PLANE_REMOTE_TEST_H_

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <utility>

#include "client/src/control_plane/remote_control_plane.h"
#include "muster/job.h"
#include "tests/client/control_plane/fake_transport.h"

namespace muster::internal {

inline std::string Message(const absl::Status& status) { return std::string(status.message()); }

inline v1::EpochId TheEpoch() {
  v1::EpochId epoch;
  epoch.set_number(100);
  epoch.set_nonce(42);
  return epoch;
}

// Returns the place of rank 1 of 2.
inline v1::JoinResponse ThePlace() {
  v1::JoinResponse place;
  *place.mutable_epoch() = TheEpoch();
  place.set_rank(1);
  for (int rank = 0; rank < 2; ++rank) {
    v1::RosterEntry* entry = place.add_roster();
    entry->mutable_member()->set_node_id("node");
    entry->set_local_rank(rank);
  }
  return place;
}

// A job that joins over a fake transport.
class RemoteTest : public ::testing::Test {
 protected:
  RemoteTest() {
    options_.coordinator = "fake:1";
    options_.job = "run";
    options_.timeout = absl::Seconds(60);
    options_.coordinator_timeout = absl::Seconds(60);
  }

  std::future<absl::StatusOr<std::unique_ptr<Job>>> StartJoin(
      Cancellation* cancellation = nullptr) {
    return std::async(
        std::launch::async, [this, cancellation]() -> absl::StatusOr<std::unique_ptr<Job>> {
          auto control = RemoteControlPlane::Join(coordinator_.NewTransport(), options_,
                                                  Deadline(options_.timeout, cancellation));
          if (!control.ok()) return control.status();
          return std::make_unique<Job>(*std::move(control));
        });
  }

  // Joins the job. Then `stream_` is its open stream.
  void Join() {
    auto joining = StartJoin();
    stream_ = coordinator_.NextStream();
    stream_->Accept(1);
    coordinator_.NextCall()->Reply(absl::OkStatus(), ThePlace());
    absl::StatusOr<std::unique_ptr<Job>> job = joining.get();
    ASSERT_TRUE(job.ok()) << job.status();
    job_ = *std::move(job);
  }

  std::future<absl::Status> StartBarrier(const std::string& label, CallOptions options = {}) {
    return std::async(std::launch::async,
                      [this, label, options] { return job_->Barrier(label, options); });
  }

  JobOptions options_;
  FakeCoordinator coordinator_;
  std::shared_ptr<FakeCoordinator::Stream> stream_;
  std::unique_ptr<Job> job_;
};

}  // namespace muster::internal

#endif  // MUSTER_TESTS_CLIENT_CONTROL_PLANE_REMOTE_TEST_H_
