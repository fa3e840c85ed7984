#ifndef MUSTER_TESTS_CLIENT_GLOO_COMMUNICATORS_H_
#define MUSTER_TESTS_CLIENT_GLOO_COMMUNICATORS_H_

#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "muster/communicator.h"
#include "tests/util/fake_job.h"

// What tests of Gloo's operations compute with.
namespace muster::testing {

inline constexpr int kRankCounts[] = {1, 2, 3, 4, 5, 8};

// Small values, so that sums and products of floats are exact in any order; those of narrow
// unsigned integers wrap.
template <class T>
T ValueOf(int rank, size_t i) {
  if constexpr (std::is_unsigned_v<T> && sizeof(T) <= 2)
    return static_cast<T>(200 + 31 * rank + 7 * i);
  const int value = static_cast<int>((rank * 5 + i * 3) % 7) - 3;
  return static_cast<T>(value);
}

template <class T>
std::vector<T> ValuesOf(int rank, size_t count) {
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = ValueOf<T>(rank, i);
  return values;
}

template <class T>
absl::Span<const T> Const(const std::vector<T>& values) {
  return values;
}

// The parameter is the number of ranks.
class CommunicatorsTest : public ::testing::TestWithParam<int> {
 protected:
  // Runs `body` on every rank with a communicator of all.
  void WithCommunicators(const std::function<void(Communicator&)>& body) {
    FakeJob job(GetParam());
    job.Run([&](int rank, const Group& world) {
      absl::StatusOr<std::unique_ptr<Communicator>> communicator = Communicator::Create(world);
      ASSERT_TRUE(communicator.ok()) << communicator.status();
      EXPECT_EQ((*communicator)->backend(), GetParam() == 1 ? "serial" : "gloo");
      body(**communicator);
    });
  }
};

}  // namespace muster::testing

#endif  // MUSTER_TESTS_CLIENT_GLOO_COMMUNICATORS_H_
