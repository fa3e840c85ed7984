#include "server/service/driver.h"

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

class IgnoredCall final : public Call {
 public:
  void End(const absl::Status&, const core::Answer&) override {}
};

// gRPC would catch it, and the daemon would go on with half of a step done.
TEST(DriverDeathTest, AnExceptionInAStepEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [](auto fail) {
    Driver driver(SomeOptions(), spdlog::default_logger(), nullptr);
    IgnoredCall call;
    try {
      driver.Run({journal::INPUT_KIND_BARRIER, driver.Enter()}, &call,
                 [&](core::Coordinator&, core::Time) -> core::Effects {
                   fail();
                   return {};
                 });
    } catch (...) {
    }
  };
  EXPECT_DEATH(run([] { throw std::bad_alloc(); }), "bad_alloc");
  EXPECT_DEATH(run([] { throw std::logic_error("a defect"); }), "a defect");
}

}  // namespace
}  // namespace muster::service
