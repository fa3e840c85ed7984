#include "tests/client/errors/call_errors.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/service/server.h"
#include "tests/client/daemon/jobs.h"
#include "tests/util/job/status_reader.h"

namespace muster::testing {
namespace {

constexpr absl::Duration kShortGrace = absl::Milliseconds(100);

std::string TextOf(const absl::Status& status) {
  EXPECT_FALSE(status.ok());
  return std::string(status.message());
}

// A coordinator in this process, and the two ranks of its job, each on a node of its own.
class Pair {
 public:
  Pair()
      : server_(StartCoordinator()),
        jobs_(server_->address(), 2,
              [](int rank, JobOptions* options) { options->node_id = absl::StrCat("n", rank); }) {}

  Jobs& jobs() { return jobs_; }
  Job& operator[](int rank) { return jobs_[rank]; }
  StatusReader status() const { return StatusReader(server_->address()); }

 private:
  static std::unique_ptr<service::Server> StartCoordinator() {
    service::ServerOptions options;
    options.listen_address = "127.0.0.1:0";
    options.core.member_grace = kShortGrace;
    options.core.limits.max_payload_bytes = 1000;
    options.core.limits.max_answer_bytes = 1500;
    absl::StatusOr<std::unique_ptr<service::Server>> server =
        service::Server::Start(std::move(options));
    EXPECT_TRUE(server.ok()) << server.status();
    return *std::move(server);
  }

  const std::unique_ptr<service::Server> server_;
  Jobs jobs_;
};

}  // namespace

std::string PairSays(const std::function<absl::Status(Job&)>& rank_0,
                     const std::function<absl::Status(Job&)>& rank_1) {
  Pair pair;
  absl::Status said;
  pair.jobs().Run([&](int rank, Job& job) {
    if (rank == 0) {
      said = rank_0(job);
    } else {
      rank_1(job).IgnoreError();
    }
  });
  return TextOf(said);
}

std::string RankSays(const std::function<absl::Status(Job&)>& rank_0) {
  Pair pair;
  return TextOf(rank_0(pair[0]));
}

std::string ALossSays() {
  Pair pair;
  auto barrier = std::async(std::launch::async, [&] { return pair[0].Barrier("save"); });
  EXPECT_TRUE(pair.status().WaitForParked(1, "Barrier"));
  pair.jobs().Destroy(1);
  return TextOf(barrier.get());
}

std::string ASecondThreadSays() {
  Pair pair;
  auto barrier = std::async(std::launch::async, [&] { return pair[0].Barrier("save"); });
  EXPECT_TRUE(pair.status().WaitForParked(1, "Barrier"));
  const std::string text = TextOf(pair[0].Barrier("load"));
  EXPECT_TRUE(pair[1].Barrier("save").ok());
  EXPECT_TRUE(barrier.get().ok());
  return text;
}

std::string AHeldLeaseSays() {
  Pair pair;
  const absl::StatusOr<Lease> held = pair[0].AcquireLease("unpack", LeaseScope::kJob);
  EXPECT_TRUE(held.ok() && held->held()) << held.status();
  return TextOf(
      pair[1].AcquireLease("unpack", LeaseScope::kJob, {absl::Milliseconds(200)}).status());
}

std::string ALeaseOfAnotherSays() {
  Pair pair;
  EXPECT_TRUE(pair[0].RunOncePerJob("unpack", [] { return 1; }).ok());
  absl::StatusOr<Lease> lease = pair[1].AcquireLease("unpack", LeaseScope::kJob);
  EXPECT_TRUE(lease.ok()) << lease.status();
  return TextOf(lease->Complete("2"));
}

std::string AloneSays(const std::function<absl::Status(Job&)>& call) {
  const absl::StatusOr<std::unique_ptr<Job>> job = Job::Join(JobOptions());
  EXPECT_TRUE(job.ok()) << job.status();
  return TextOf(call(**job));
}

std::string CommunicatorSays(const std::function<absl::Status(Communicator&)>& call) {
  return AloneSays([&](Job& job) {
    const absl::StatusOr<std::unique_ptr<Communicator>> communicator = Communicator::Create(job);
    return communicator.ok() ? call(**communicator) : communicator.status();
  });
}

}  // namespace muster::testing
