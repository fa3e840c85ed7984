// Tests of the claims by which two launchers choose different cores.
#include "client/launcher/binding/core_claims.h"

#include <sys/wait.h>
#include <unistd.h>

#include "gtest/gtest.h"
#include "tests/util/process/process.h"

namespace muster::launcher {
namespace {

class CoreClaimsTest : public ::testing::Test {
 protected:
  std::unique_ptr<CoreClaims> Open() const { return CoreClaims::Open(path_); }

  const std::string path_ = muster::testing::MakeTempDir() + "/bound-cpus";
};

TEST_F(CoreClaimsTest, OthersSeeAClaimUntilItEnds) {
  std::unique_ptr<CoreClaims> first = Open();
  ASSERT_NE(first, nullptr);
  first->Claim({2, 3});
  EXPECT_TRUE(first->IsFree({{2, 3}})) << "its own";
  first->DoneChoosing();
  const std::unique_ptr<CoreClaims> second = Open();
  EXPECT_FALSE(second->IsFree({{3}}));
  EXPECT_FALSE(second->IsFree({{1, 2}}));
  EXPECT_TRUE(second->IsFree({{0, 1}}));
  first = nullptr;
  EXPECT_TRUE(second->IsFree({{2, 3}}));
}

TEST_F(CoreClaimsTest, AClaimEndsWithItsProcess) {
  const pid_t pid = fork();
  if (pid == 0) {
    const std::unique_ptr<CoreClaims> claims = Open();
    claims->Claim({0});
    _exit(claims->IsFree({{0}}) ? 0 : 1);  // without destructors
  }
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  ASSERT_EQ(status, 0);
  EXPECT_TRUE(Open()->IsFree({{0}}));
}

TEST_F(CoreClaimsTest, IsNullWithoutAFolder) {
  EXPECT_EQ(CoreClaims::Open(path_ + "/none/file"), nullptr);
}

}  // namespace
}  // namespace muster::launcher
