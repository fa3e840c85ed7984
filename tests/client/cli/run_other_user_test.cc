// Tests of `muster run` among processes of two users. They need root on the machine itself: a
// sandbox that maps only root has no second user.

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/cli/muster_command.h"

namespace muster::cli {
namespace {

using muster::testing::Exit;
using ::testing::HasSubstr;

constexpr Exit kSuccess = {false, 0};

// A folder that the user nobody may use, with what a run needs and a setpriv that makes its caller
// root.
class OtherUserTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    ASSERT_EQ(Shell("chmod 755 $D && cp \"$(command -v setpriv)\" $D && mkdir -m 777 $D/shared"),
              0);
    if (Shell("chmod u+s $D/setpriv && setpriv --reuid=65534 --clear-groups $D/setpriv --reuid=0 "
              "--clear-groups true") != 0) {
      GTEST_SKIP() << "needs root, and a " << folder_ << " whose programs may change the user";
    }
  }
  void TearDown() override { Shell("rm -rf $D"); }

  int Shell(const std::string& script) const {
    return system(absl::StrCat("D=", folder_, "; ", script).c_str());
  }

  std::string folder_ = "/tmp/muster-users-XXXXXX";
};

TEST_F(OtherUserTest, AProcessThatMayNotBeKilledIsLeftAndNamed) {
  // The launcher runs as the user nobody. The rank's background process has made itself root.
  const auto muster = MusterCommand::Wrapped(
      {"sh", "-c",
       "cp \"$MUSTER\" $0/muster && cp \"$MUSTER_MUSTERD\" $0/musterd && "
       "MUSTER_MUSTERD=$0/musterd TMPDIR=$0/shared exec setpriv --reuid=65534 --clear-groups "
       "$0/muster run --grace=10ms -- sh -c '$0/setpriv --reuid=0 --clear-groups sh -c \": "
       ">$0/shared/up; exec sleep 1001\" & until [ -e $0/shared/up ]; do sleep 0.01; done' $0",
       folder_});
  EXPECT_EQ(muster->process().Wait(), kSuccess) << muster->process().Output();
  EXPECT_THAT(muster->process().Output(),
              HasSubstr("which a rank left in the background, belongs to another user"));
  EXPECT_TRUE(muster->WaitForProcesses("sleep 1001", 1));
}

// gRPC never returns from a call if it gets none of its threads. The launcher makes such a call
// after a rank's failure, to ask whether the job uses Muster.
//
// The test runs as another user than root, since the limit does not bind root. No other process has
// this user, since the limit counts all of a user's processes on the machine.
TEST_F(OtherUserTest, ALauncherWithFewThreadsStillEnds) {
  const uint32_t user = 100000 + std::random_device()() % 1000000000;
  const auto muster = MusterCommand::Wrapped(
      {"sh", "-c",
       "cp \"$MUSTER\" $0/muster && cp \"$MUSTER_MUSTERD\" $0/musterd && "
       "MUSTER_MUSTERD=$0/musterd TMPDIR=$0/shared exec prlimit --nproc=8 setpriv --reuid=$1 "
       "--clear-groups $0/muster run --max-restarts=1 -- sh -c 'exit 3'",
       folder_, absl::StrCat(user)});
  EXPECT_EQ(muster->process().Wait(), (Exit{false, 3})) << muster->process().Output();
}

}  // namespace
}  // namespace muster::cli
