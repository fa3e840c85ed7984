// Tests of the process that reads a machine's topology.
#include "client/launcher/binding/layout_reader.h"

#include <signal.h>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::launcher {
namespace {

using ::testing::HasSubstr;

NodeLayout SomeLayout() {
  NodeLayout layout;
  layout.cores = {{{0, 8}, 0}, {{1, 9}, 1}};
  layout.numa_nodes = {{0, 8}, {1, 9}};
  layout.gpus = {{1, 2, 3, 9}, {}};
  return layout;
}

TEST(LayoutReaderTest, ReturnsWhatTheChildHasRead) {
  const absl::StatusOr<NodeLayout> layout = ReadInChild(SomeLayout, absl::Minutes(1));
  ASSERT_TRUE(layout.ok()) << layout.status();
  EXPECT_EQ(PackLayout(layout), PackLayout(SomeLayout()));
  ASSERT_EQ(layout->cores.size(), 2);
  EXPECT_EQ(layout->cores[1].cpus, (Cpus{1, 9}));
  EXPECT_EQ(layout->cores[1].numa, 1);
  EXPECT_EQ(layout->numa_nodes, SomeLayout().numa_nodes);
  EXPECT_EQ(layout->gpus, SomeLayout().gpus);
}

TEST(LayoutReaderTest, ReturnsTheChildsError) {
  const auto fail = [] { return absl::UnavailableError("no libhwloc.so.15"); };
  EXPECT_EQ(ReadInChild(fail, absl::Minutes(1)).status(),
            absl::UnavailableError("no libhwloc.so.15"));
}

TEST(LayoutReaderTest, OutlivesAChildThatCrashes) {
  const auto crash = []() -> absl::StatusOr<NodeLayout> {
    kill(getpid(), SIGKILL);
    return NodeLayout();
  };
  EXPECT_THAT(ReadInChild(crash, absl::Minutes(1)).status().message(), HasSubstr("has died"));
}

TEST(LayoutReaderTest, GivesUpOnAChildThatHangs) {
  const auto hang = []() -> absl::StatusOr<NodeLayout> {
    while (true) pause();
  };
  EXPECT_THAT(ReadInChild(hang, absl::Milliseconds(10)).status().message(),
              HasSubstr("have not answered for 10ms"));
}

TEST(LayoutReaderTest, ReadsThisMachine) {
  const absl::StatusOr<NodeLayout> layout = ReadThisNode();
  ASSERT_TRUE(layout.ok()) << layout.status();
  EXPECT_FALSE(layout->cores.empty());
}

}  // namespace
}  // namespace muster::launcher
