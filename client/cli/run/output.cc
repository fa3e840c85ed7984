#include "client/cli/run/output.h"

#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/run/pseudo_terminal.h"
#include "client/launcher/outcome/process_end.h"
#include "common/process/steady_now.h"

namespace muster::cli {
namespace {

constexpr size_t kReadBytes = 64 << 10;
constexpr size_t kHighWater = 2 * AsyncWriter::kLowWater;
// An unfinished line is shown after this time.
constexpr absl::Duration kLinePatience = absl::Milliseconds(200);
// Ranks that end on their own within this time after the reader has gone are not signalled.
constexpr absl::Duration kReaderPatience = absl::Seconds(1);

// More than the kernel buffers for the reader of a pseudo-terminal.
constexpr size_t kTerminalBytes = 128 << 10;

// Returns how many bytes can be read now. For a terminal, the kernel only counts those in its last
// buffer, so this returns the upper limit.
size_t Available(int fd, bool terminal) {
  if (terminal) return kTerminalBytes;
  int available = 0;
  ioctl(fd, FIONREAD, &available);
  return available;
}

bool SameFile(int a, int b) {
  struct stat first, second;
  return fstat(a, &first) == 0 && fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

}  // namespace

Output::Output(launcher::EventLoop* loop, std::function<void(bool lost)> on_reader_gone)
    : loop_(loop),
      on_reader_gone_(std::move(on_reader_gone)),
      first_(NewScreen(STDOUT_FILENO, "standard output")),
      second_(SameFile(STDOUT_FILENO, STDERR_FILENO) ? nullptr
                                                     : NewScreen(STDERR_FILENO, "standard error")),
      stdout_(first_.get()),
      stderr_(second_ == nullptr ? first_.get() : second_.get()) {
  loop_->Watch(logs_.wake_fd(), [this] {
    logs_.ClearWake();
    PrintWarnings();
  });
  WatchReaders();
}

Output::~Output() {
  *self_ = nullptr;
  Finish();
  for (const Screen* screen : {stdout_, stderr_}) loop_->Forget(screen->fd);
  loop_->Forget(logs_.wake_fd());
  loop_->Forget(stdout_->writer.wake_fd());
  loop_->Forget(stderr_->writer.wake_fd());
}

std::unique_ptr<Output::Screen> Output::NewScreen(int fd, const std::string& name) {
  auto screen = std::make_unique<Screen>();
  screen->fd = fd;
  screen->sink = screen->writer.AddSink(fd, name);
  screen->launcher_stream = screen->lines.AddStream("muster: ");
  loop_->Watch(screen->writer.wake_fd(), [this, screen = screen.get()] { OnScreenWake(screen); });
  return screen;
}

void Output::OnScreenWake(Screen* screen) {
  screen->writer.ClearWake();
  PrintFailures(screen);
  Resume(screen);
}

// Watches for readers that close. A process that writes no more would never get SIGPIPE.
void Output::WatchReaders() {
  for (const Screen* screen : {stdout_, stderr_}) {
    loop_->WatchReader(screen->fd, [this, fd = screen->fd] {
      loop_->Forget(fd);
      loop_->At(SteadyNow() + kReaderPatience, [self = self_] {
        if (*self != nullptr) (*self)->OnReaderGone(/*lost=*/false);
      });
    });
  }
}

void Output::OnReaderGone(bool lost) {
  if (!std::exchange(reader_gone_, true)) on_reader_gone_(lost);
}

absl::StatusOr<int> Output::OpenPipe(const std::string& owner, Stream stream,
                                     const std::string& prefix, std::optional<int> log) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) {
    return launcher::StartError(errno, absl::StrCat("cannot create a pipe for ", owner));
  }
  fcntl(fds[0], F_SETFL, O_NONBLOCK);  // only the reading end; the child's end stays blocking
  AddPipe(fds[0], /*terminal=*/false, owner, ScreenOf(stream), prefix, log);
  return fds[1];
}

void Output::AddPipe(int reader, bool terminal, const std::string& owner, Screen* screen,
                     const std::string& prefix, std::optional<int> log) {
  const Pipe pipe = {owner,
                     screen,
                     static_cast<int>(prefix.size()),
                     terminal,
                     screen->lines.AddStream(prefix),
                     log,
                     log ? logs_.AddStream(*log) : 0,
                     !prefix.empty() || isatty(screen->fd) != 0,
                     std::nullopt};
  if (terminal) SetSize(reader, pipe);
  pipes_.emplace(reader, pipe);
  if (!screen->paused) WatchPipe(reader);
}

absl::StatusOr<int> Output::OpenChildStream(const std::string& owner, Stream stream,
                                            const std::string& prefix, std::optional<int> log,
                                            PtyMode use) {
  Screen* const screen = ScreenOf(stream);
  const bool wanted = use == PtyMode::kAll || (use == PtyMode::kTerminals && isatty(screen->fd));
  if (!wanted) return OpenPipe(owner, stream, prefix, log);
  const absl::StatusOr<PseudoTerminal> terminal = OpenPseudoTerminal();
  if (terminal.ok()) {
    AddPipe(terminal->reader, /*terminal=*/true, owner, screen, prefix, log);
    return terminal->writer;
  }
  if (!std::exchange(reported_no_terminal_, true)) {
    Say(absl::StrCat(terminal.status().message(), "; the output of ", owner,
                     " goes through pipes, and may come late"));
  }
  return OpenPipe(owner, stream, prefix, log);
}

absl::StatusOr<Output::ChildFds> Output::OpenChild(const std::string& owner,
                                                   const std::string& prefix,
                                                   std::optional<int> log, PtyMode use) {
  const absl::StatusOr<int> out = OpenChildStream(owner, Stream::kStdout, prefix, log, use);
  if (!out.ok()) return out.status();
  if (stdout_ == stderr_ && isatty(*out)) return ChildFds{*out, *out};
  const absl::StatusOr<int> err = OpenChildStream(owner, Stream::kStderr, prefix, log, use);
  if (err.ok()) return ChildFds{*out, *err};
  close(*out);
  return err.status();
}

void Output::SetSize(int reader, const Pipe& pipe) const {
  CopyWindowSize(pipe.screen->fd, pipe.margin, reader);
}

void Output::ResizeTerminals() {
  for (const auto& [fd, pipe] : pipes_) {
    if (pipe.terminal) SetSize(fd, pipe);
  }
}

void Output::Say(const std::string& text) {
  stderr_->writer.Write(stderr_->sink,
                        stderr_->lines.Feed(stderr_->launcher_stream, absl::StrCat(text, "\n")));
}

void Output::Drain(const std::string& owner) {
  std::vector<int> fds;
  for (const auto& [fd, pipe] : pipes_) {
    if (pipe.owner == owner) fds.push_back(fd);
  }
  for (int fd : fds) {
    // Does not read until the pipe is empty: another process that holds the pipe may never stop
    // writing.
    size_t available = Available(fd, pipes_.at(fd).terminal);
    while (available > 0) {
      const ssize_t size = ReadOnce(fd);
      if (size <= 0) break;
      available -= std::min(available, static_cast<size_t>(size));
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

bool Output::Shown() {
  PrintWarnings();
  PrintFailures(stdout_);
  PrintFailures(stderr_);
  return stdout_->writer.pending() == 0 && stderr_->writer.pending() == 0;
}

void Output::PrintFailures(Screen* screen) {
  for (const AsyncWriter::Failure& failure : screen->writer.TakeFailures()) {
    lost_ = true;
    if (failure.error != EPIPE) {
      Say(absl::StrCat("cannot write to ", failure.name, ": ", strerror(failure.error),
                       "; the rest of its output is lost"));
    } else {
      OnReaderGone(/*lost=*/true);
    }
  }
}

void Output::PrintWarnings() {
  for (const std::string& warning : logs_.TakeWarnings()) Say(warning);
}

ssize_t Output::ReadOnce(int fd) {
  char buffer[kReadBytes];
  Pipe& pipe = pipes_.at(fd);
  const ssize_t size = read(fd, buffer, sizeof(buffer));
  if (size < 0 && errno == EIO && pipe.terminal) return 0;  // no writer is left
  if (size <= 0) return size;
  const absl::string_view chunk(buffer, size);
  pipe.screen->writer.Write(pipe.screen->sink, pipe.screen->lines.Feed(pipe.shown_stream, chunk));
  NotePartialLine(&pipe, chunk);
  tails_->Add(pipe.owner, chunk);
  if (pipe.log) {
    logs_.Write(*pipe.log, pipe.log_stream, chunk);
    PrintWarnings();
  }
  return size;
}

void Output::NotePartialLine(Pipe* pipe, absl::string_view chunk) {
  if (!pipe->shows_partial_lines || !pipe->screen->lines.HasPartialLine(pipe->shown_stream)) {
    pipe->partial_since.reset();
  } else if (!pipe->partial_since || absl::StrContains(chunk, '\n')) {
    pipe->partial_since = SteadyNow();
    if (!std::exchange(partial_lines_scheduled_, true)) SchedulePartialLines(*pipe->partial_since);
  }
}

void Output::SchedulePartialLines(absl::Time since) {
  loop_->At(since + kLinePatience, [self = self_] {
    if (*self != nullptr) (*self)->ShowPartialLines();
  });
}

void Output::ShowPartialLines() {
  std::optional<absl::Time> next;
  for (auto& [fd, pipe] : pipes_) {
    if (!pipe.partial_since) continue;
    // The end of the line may be in the pipe, unread.
    if (pipe.screen->paused) pipe.partial_since = SteadyNow();
    if (*pipe.partial_since + kLinePatience > SteadyNow()) {
      next = next ? std::min(*next, *pipe.partial_since) : *pipe.partial_since;
      continue;
    }
    pipe.partial_since.reset();
    pipe.screen->writer.Write(pipe.screen->sink,
                              pipe.screen->lines.ShowPartialLine(pipe.shown_stream));
  }
  partial_lines_scheduled_ = next.has_value();
  if (next) SchedulePartialLines(*next);
}

void Output::Close(int fd) {
  const Pipe& pipe = pipes_.at(fd);
  if (pipe.log) logs_.Finish(*pipe.log, pipe.log_stream);
  pipe.screen->writer.Write(pipe.screen->sink,
                            pipe.screen->lines.Finish(pipe.shown_stream, /*end_line=*/true));
  loop_->Forget(fd);
  close(fd);
  pipes_.erase(fd);
}

void Output::WatchPipe(int fd) {
  loop_->Watch(fd, [this, fd] {
    if (ReadOnce(fd) == 0) {
      Close(fd);
    } else {
      PauseIfFull(pipes_.at(fd).screen);
    }
  });
}

void Output::PauseIfFull(Screen* screen) {
  if (screen->paused || screen->writer.pending() < kHighWater) return;
  screen->paused = true;
  for (const auto& [fd, pipe] : pipes_) {
    if (pipe.screen == screen) loop_->Forget(fd);
  }
}

void Output::Resume(Screen* screen) {
  if (!screen->paused || screen->writer.pending() > AsyncWriter::kLowWater) return;
  screen->paused = false;
  for (const auto& [fd, pipe] : pipes_) {
    if (pipe.screen == screen) WatchPipe(fd);
  }
}

}  // namespace muster::cli
