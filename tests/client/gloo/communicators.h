#ifndef MUSTER_TESTS_CLIENT_GLOO_COMMUNICATORS_H_
#define MUSTER_TESTS_CLIENT_GLOO_COMMUNICATORS_H_

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "muster/communicator.h"
#include "tests/util/fakes/fake_job.h"

// Layouts, values and ranks for the tests of Gloo's operations.
namespace muster::testing {

// The node of each rank.
using Layout = std::vector<int>;

// Returns whether ranks of a node use shared memory in this run of the test.
inline bool SharesMemory() {
  const char* const variable = std::getenv("MUSTER_GLOO_SHARED_MEMORY");
  return variable == nullptr || std::string(variable) != "0";
}

inline std::string NameOfLayout(const Layout& layout) {
  return "OnNodes" + absl::StrJoin(layout, "");
}
inline std::string NameOfLayoutParam(const ::testing::TestParamInfo<Layout>& info) {
  return NameOfLayout(info.param);
}

// Returns layouts to test: one node, one rank on each node, and nodes of equal and unequal sizes,
// with consecutive and with interleaved ranks.
inline const std::vector<Layout>& Layouts() {
  static const auto* const layouts = new std::vector<Layout>{
      {0},
      {0, 0},
      {0, 0, 0},
      {0, 0, 0, 0},
      {0, 0, 0, 0, 0},
      Layout(8, 0),
      {0, 1, 2},
      {0, 0, 1, 1},
      {0, 1, 0, 1},
      {0, 1, 2, 0, 1},
      {0, 1, 1, 1},
      {2, 0, 0, 1, 2, 2, 0},
  };
  return *layouts;
}

// Returns small values, so that sums and products of floats are exact in any order. Sums of narrow
// unsigned integers wrap around.
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

class CommunicatorsTest : public ::testing::TestWithParam<Layout> {
 protected:
  static int ranks() { return static_cast<int>(GetParam().size()); }

  // Runs `body` on every rank with a communicator of all ranks.
  void WithCommunicators(const std::function<void(Communicator&)>& body) {
    FakeJob job(FakeJob::OnNodes(GetParam()));
    job.Run([&](int rank, const Group& world) {
      absl::StatusOr<std::unique_ptr<Communicator>> communicator = Communicator::Create(world);
      ASSERT_TRUE(communicator.ok()) << communicator.status();
      EXPECT_EQ((*communicator)->backend(), ranks() == 1 ? "serial" : "gloo");
      body(**communicator);
    });
  }
};

}  // namespace muster::testing

#endif  // MUSTER_TESTS_CLIENT_GLOO_COMMUNICATORS_H_
