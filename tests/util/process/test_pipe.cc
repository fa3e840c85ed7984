#include "tests/util/process/test_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/util/process/process.h"
#include "tests/util/process/wait_until.h"

namespace muster::testing {

TestPipe::TestPipe() : path_(absl::StrCat(MakeTempDir(), "/pipe")) {
  EXPECT_EQ(mkfifo(path_.c_str(), 0600), 0);
  // Opens it for writing too, so that opening does not wait for another process.
  fd_ = open(path_.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  EXPECT_GT(fcntl(fd_, F_SETPIPE_SZ, 4096), 0);
}

TestPipe::~TestPipe() { Close(); }

int TestPipe::OpenToWrite() const { return open(path_.c_str(), O_WRONLY | O_CLOEXEC); }

void TestPipe::Fill() const {
  while (write(fd_, ".", 1) > 0) {
  }
  EXPECT_EQ(errno, EAGAIN);
}

void TestPipe::ReadSome() {
  char buffer[4096];
  const ssize_t size = ::read(fd_, buffer, sizeof(buffer));
  if (size > 0) read_.append(buffer, size);
}

bool TestPipe::ReadUntil(const std::string& text) {
  const bool came = WaitUntil([&] {
    ReadSome();
    return absl::StrContains(read_, text);
  });
  EXPECT_TRUE(came) << "'" << text << "' did not come, but:\n" << read_;
  return came;
}

void TestPipe::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

}  // namespace muster::testing
