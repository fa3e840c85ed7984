// The driver of the core: an exception in a step ends the process.

#include "server/service/driver/coordinator_driver.h"

#include <functional>
#include <memory>
#include <new>
#include <stdexcept>

#include "gtest/gtest.h"
#include "spdlog/spdlog.h"

namespace muster::service {
namespace {

core::Options SomeOptions() {
  core::Options options;
  options.job_id = "job";
  options.random = [] { return uint64_t{1}; };
  return options;
}

class IgnoredStream final : public EventStream {
 public:
  void Push(StreamItem) override {}
  void Flush() override {}
};

core::AttachRequest SomeAttach() {
  core::AttachRequest request;
  request.job_id = "job";
  request.protocol_version = core::kProtocolVersion;
  request.sdk_version = "1.2.3";
  request.member.incarnation = std::string(16, 'i');
  request.member.node_id = "node";
  return request;
}

// Otherwise gRPC would catch the exception, and the daemon would continue after half a step.
TEST(CoordinatorDriverDeathTest, AnExceptionInAStepEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [](std::function<uint64_t()> draw) {
    core::Options options = SomeOptions();
    options.random = std::move(draw);  // called for the session's key, in the step
    CoordinatorDriver driver(std::move(options), spdlog::default_logger(), nullptr);
    const journal::KeptRequest kept;
    try {
      driver.Attach({driver.Enter(), SomeAttach(), &kept}, std::make_shared<IgnoredStream>());
    } catch (...) {
    }
  };
  EXPECT_DEATH(run([]() -> uint64_t { throw std::bad_alloc(); }), "bad_alloc");
  EXPECT_DEATH(run([]() -> uint64_t { throw std::logic_error("a defect"); }), "a defect");
}

}  // namespace
}  // namespace muster::service
