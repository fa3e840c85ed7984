// Tests of memory that one process shares with others by a ticket.
#include "client/src/exchange/shared_segment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace muster::internal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Returns the content of the ticket's segment, or the error.
std::string Content(const SegmentTicket& ticket) {
  const auto bytes = OpenSegment(ticket);
  return bytes.ok() ? std::string((*bytes)->bytes()) : bytes.status().ToString();
}

// A process that shares `text` until it is killed.
class Sharer {
 public:
  explicit Sharer(const std::string& text) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    pid_ = fork();
    if (pid_ == 0) {
      const auto segment = SharedSegment::Create({text}, text.size());
      const SegmentTicket ticket = segment.ok() ? (*segment)->Ticket().value() : SegmentTicket();
      [[maybe_unused]] const ssize_t written = write(ends[1], &ticket, sizeof(ticket));
      while (true) pause();
    }
    EXPECT_EQ(read(ends[0], &ticket_, sizeof(ticket_)), ssize_t{sizeof(ticket_)});
    close(ends[0]);
    close(ends[1]);
  }
  ~Sharer() { Kill(); }

  void Kill() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

  const SegmentTicket& ticket() const { return ticket_; }

 private:
  pid_t pid_ = -1;
  SegmentTicket ticket_;
};

TEST(SharedSegmentTest, AnotherProcessReadsIt) {
  const Sharer sharer("hello");
  EXPECT_EQ(Content(sharer.ticket()), "hello");
}

TEST(SharedSegmentTest, PartsFollowEachOther) {
  const auto segment = SharedSegment::Create({"ab", "", "c"}, 3);
  ASSERT_TRUE(segment.ok()) << segment.status();
  EXPECT_EQ(Content(*(*segment)->Ticket()), "abc");
  const auto empty = SharedSegment::Create({}, 0);
  ASSERT_TRUE(empty.ok()) << empty.status();
  EXPECT_EQ(Content(*(*empty)->Ticket()), "");
}

TEST(SharedSegmentTest, AnOpenSegmentOutlivesItsCreator) {
  Sharer sharer("hello");
  const auto bytes = OpenSegment(sharer.ticket());
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  sharer.Kill();
  EXPECT_EQ((*bytes)->bytes(), "hello");
  EXPECT_THAT(Content(sharer.ticket()), HasSubstr("FAILED_PRECONDITION: its shared memory cannot"));
}

TEST(SharedSegmentTest, AnotherFileIsNotTakenForIt) {
  const Sharer sharer("hello");
  SegmentTicket wrong = sharer.ticket();
  wrong.inode += 1;
  EXPECT_THAT(Content(wrong), HasSubstr("another process"));
}

TEST(SharedSegmentTest, HasNoName) {
  const auto names = [] {
    std::set<std::string> result;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
      result.insert(entry.path().string());
    }
    return result;
  };
  const std::set<std::string> before = names();
  const Sharer sharer(std::string(1 << 20, 'x'));
  for (const std::string& name : names()) {
    if (before.count(name) > 0) continue;
    std::error_code gone;  // for other tests' segments, which may go away
    EXPECT_NE(std::filesystem::file_size(name, gone), size_t{1} << 20) << name;
  }
}

TEST(SharedSegmentTest, TooLittleSpaceIsAnErrorThatSaysWhatToDo) {
  struct statvfs info;
  ASSERT_EQ(statvfs("/dev/shm", &info), 0);
  const size_t size = info.f_blocks * info.f_frsize + (1 << 20);
  // The memory is never touched, so it takes no pages.
  void* const large =
      mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(large, MAP_FAILED);
  const absl::Status status =
      SharedSegment::Create({absl::string_view(static_cast<char*>(large), size)}, 2 * size)
          .status();
  munmap(large, size);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(absl::StrCat(size, " bytes of shared memory are needed")),
                    HasSubstr(absl::StrCat("of ", info.f_blocks * info.f_frsize)),
                    HasSubstr(absl::StrCat("--shm-size=", 2 * size / (1 << 20) + 1, "m"))));
}

TEST(SharedSegmentTest, AFolderThatIsMissingIsNamed) {
  const absl::Status status = SharedSegment::Create({"x"}, 1, "/nowhere/shm").status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("/nowhere/shm"));
}

}  // namespace
}  // namespace muster::internal
