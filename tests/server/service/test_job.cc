#include "tests/server/service/test_job.h"

#include <algorithm>
#include <utility>

namespace muster::testing {

service::ServerOptions TestOptions() {
  service::ServerOptions options;
  options.listen_address = "127.0.0.1:0";
  options.core.member_grace = absl::Milliseconds(50);
  return options;
}

std::unique_ptr<service::Server> StartServer(service::ServerOptions options) {
  absl::StatusOr<std::unique_ptr<service::Server>> server =
      service::Server::Start(std::move(options));
  EXPECT_THAT(server, IsOk());
  return server.ok() ? *std::move(server) : nullptr;
}

TestJob::TestJob(const std::string& address, int world_size, const TestMember::Options& options) {
  for (int i = 0; i < world_size; ++i) {
    members_.push_back(std::make_unique<TestMember>(address, options));
    EXPECT_THAT(members_.back()->AttachWhenReachable(), IsOk());
  }
  for (const auto& joined : All([&](TestMember& m) { return m.Join(world_size); })) {
    EXPECT_THAT(joined, IsOk());
  }
  std::sort(members_.begin(), members_.end(),
            [](const auto& a, const auto& b) { return a->rank() < b->rank(); });
}

}  // namespace muster::testing
