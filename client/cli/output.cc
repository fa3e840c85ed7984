#include "client/cli/output.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace muster::cli {
namespace {

constexpr size_t kReadBytes = 64 << 10;
constexpr size_t kHighWater = 2 * Writer::kLowWater;

}  // namespace

Output::Output(EventLoop* loop)
    : loop_(loop),
      stdout_sink_(writer_.AddSink(STDOUT_FILENO, "standard output")),
      stderr_sink_(writer_.AddSink(STDERR_FILENO, "standard error")) {
  loop_->Watch(writer_.wake_fd(), [this] {
    writer_.ClearWake();
    Resume();
  });
}

Output::~Output() {
  Finish();
  loop_->Forget(writer_.wake_fd());
}

absl::StatusOr<int> Output::OpenPipe(const std::string& owner, Stream stream,
                                     const std::string& prefix, std::optional<int> log) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot make a pipe for ", owner));
  }
  fcntl(fds[0], F_SETFL, O_NONBLOCK);  // the reading end only: the child's is as it expects
  const int sink = stream == Stream::kStdout ? stdout_sink_ : stderr_sink_;
  pipes_.emplace(fds[0], Pipe{owner, sink, log, LinePrefixer(prefix)});
  if (!paused_) WatchPipe(fds[0]);
  return fds[1];
}

absl::StatusOr<int> Output::OpenLog(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  return writer_.AddSink(fd, path);
}

void Output::Say(const std::string& text) {
  writer_.Write(stderr_sink_, absl::StrCat("muster: ", text, "\n"));
}

void Output::Drain(const std::string& owner) {
  std::vector<int> fds;
  for (const auto& [fd, pipe] : pipes_) {
    if (pipe.owner == owner) fds.push_back(fd);
  }
  for (int fd : fds) {
    // Not until it is empty: what holds the pipe beside the owner may write without an end.
    int available = 0;
    ioctl(fd, FIONREAD, &available);
    while (available > 0) {
      const ssize_t size = ReadOnce(fd);
      if (size <= 0) break;
      available -= static_cast<int>(size);
    }
  }
}

void Output::Finish() {
  while (!pipes_.empty()) {
    const int fd = pipes_.begin()->first;
    Drain(std::string(pipes_.begin()->second.owner));
    Close(fd);
  }
}

ssize_t Output::ReadOnce(int fd) {
  char buffer[kReadBytes];
  const ssize_t size = read(fd, buffer, sizeof(buffer));
  if (size <= 0) return size;
  Pipe& pipe = pipes_.at(fd);
  const absl::string_view chunk(buffer, size);
  if (pipe.log) writer_.Write(*pipe.log, std::string(chunk));
  writer_.Write(pipe.sink, pipe.lines.Feed(chunk));
  return size;
}

void Output::Close(int fd) {
  Pipe& pipe = pipes_.at(fd);
  writer_.Write(pipe.sink, pipe.lines.Finish());
  loop_->Forget(fd);
  close(fd);
  pipes_.erase(fd);
}

void Output::WatchPipe(int fd) {
  loop_->Watch(fd, [this, fd] {
    if (ReadOnce(fd) == 0) {
      Close(fd);
    } else {
      PauseIfFull();
    }
  });
}

void Output::PauseIfFull() {
  if (paused_ || writer_.pending() < kHighWater) return;
  paused_ = true;
  for (const auto& [fd, pipe] : pipes_) loop_->Forget(fd);
}

void Output::Resume() {
  if (!paused_ || writer_.pending() > Writer::kLowWater) return;
  paused_ = false;
  for (const auto& [fd, pipe] : pipes_) WatchPipe(fd);
}

}  // namespace muster::cli
