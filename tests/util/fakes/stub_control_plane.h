#ifndef MUSTER_TESTS_UTIL_FAKES_STUB_CONTROL_PLANE_H_
#define MUSTER_TESTS_UTIL_FAKES_STUB_CONTROL_PLANE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/src/control_plane/control_plane.h"

namespace muster::testing {

// A control plane that only knows the members of a healthy job. A fake overrides what else it
// needs.
class StubControlPlane : public internal::ControlPlane {
 public:
  StubControlPlane(std::string job_id, std::vector<Member> members, int rank)
      : job_id_(std::move(job_id)), members_(std::move(members)), rank_(rank) {}

  const std::string& job_id() const override { return job_id_; }
  bool is_distributed() const override { return true; }
  const std::vector<Member>& members() const override { return members_; }
  int rank() const override { return rank_; }
  uint64_t epoch() const override { return 1; }
  absl::Duration default_timeout() const override { return absl::Seconds(60); }
  std::string local_address() const override { return "127.0.0.1"; }
  size_t max_payload_bytes() const override { return 0; }
  size_t max_name_bytes() const override { return 256; }

  absl::StatusOr<internal::LeaseOutcome> AcquireLease(const std::string&, LeaseScope,
                                                      const CallOptions&) override {
    return absl::UnimplementedError("no leases");
  }
  absl::Status CompleteLease(const std::string&, LeaseScope, uint64_t,
                             const absl::StatusOr<std::string>&) override {
    return absl::UnimplementedError("no leases");
  }
  void ReleaseLease(const std::string&, LeaseScope, uint64_t) override {}
  absl::Status Leave(const CallOptions&) override { return absl::OkStatus(); }
  absl::StatusOr<std::unique_ptr<internal::ControlPlane>> Rejoin(const CallOptions&) override {
    return absl::UnimplementedError("one epoch");
  }
  int newcomers_waiting() const override { return 0; }
  Subscription OnNewcomers(std::function<void()>) override { return Subscription(); }
  absl::Status RequestStop(const CallOptions&) override {
    return absl::UnimplementedError("no stops");
  }
  bool stop_requested() const override { return false; }

  absl::Status health() const override { return absl::OkStatus(); }
  absl::Status AwaitFailure(absl::Duration) const override { return absl::OkStatus(); }
  absl::Status AwaitLoss(const CallOptions&) const override {
    return AwaitFailure(absl::Seconds(5));
  }
  Subscription OnFailure(std::function<void(const absl::Status&)>) override {
    return Subscription();
  }

 private:
  const std::string job_id_;
  const std::vector<Member> members_;
  const int rank_;
};

}  // namespace muster::testing

#endif  // MUSTER_TESTS_UTIL_FAKES_STUB_CONTROL_PLANE_H_
