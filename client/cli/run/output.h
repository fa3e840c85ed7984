#ifndef MUSTER_CLIENT_CLI_RUN_OUTPUT_H_
#define MUSTER_CLIENT_CLI_RUN_OUTPUT_H_

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cli/run/async_writer.h"
#include "client/cli/run/launch_plan.h"
#include "client/cli/run/line_multiplexer.h"
#include "client/cli/run/log_files.h"
#include "client/launcher/process/event_loop.h"
#include "client/launcher/process/output_tails.h"

namespace muster::cli {

// The output of a launcher's children. Forwards it line by line to the launcher's own standard
// output and error, and to log files.
//
//   absl::StatusOr<Output::ChildFds> ends = output.OpenChild("rank 3", "[3] ", log, use);
//   ... start the child with these descriptors, and close them here
//   output.Drain("rank 3");  // when the child has ended
//   output.Finish();         // at the end of the run
//
// An unfinished line, such as a prompt, is shown after 200 ms. Files and pipes without prefixes get
// whole lines only, because programs read them. If the launcher's reader is slow, the launcher
// stops reading the children's pipes. The children then wait, as they would for a slow pipe of
// their own. They never wait for a log file. Runs in the EventLoop's thread.
class Output {
 public:
  enum class Stream { kStdout, kStderr };

  // `loop` must outlive the object. `on_reader_gone` runs once, in the loop, when standard output
  // or error is a pipe that has lost its reader: at the next write, or some time later. `lost` says
  // whether output was lost.
  Output(launcher::EventLoop* loop, std::function<void(bool lost)> on_reader_gone);
  ~Output();

  // Creates a pipe for a child. Text written to the returned descriptor goes to `stream` with
  // `prefix` before each line, and to `log` without it. The caller owns the descriptor, and closes
  // it once the child has it.
  absl::StatusOr<int> OpenPipe(const std::string& owner, Stream stream, const std::string& prefix,
                               std::optional<int> log);

  // Descriptors for a child's output, owned by the caller. Both may be the same.
  struct ChildFds {
    int out = -1;
    int err = -1;
  };
  // Returns the ends for both streams of a child. Each is a pseudo-terminal if `use` says so, and
  // both are the same one if the launcher's standard output and error are the
  // same file. If no pseudo-terminal is
  // available, uses a pipe, and tells the user once.
  absl::StatusOr<ChildFds> OpenChild(const std::string& owner, const std::string& prefix,
                                     std::optional<int> log, PtyMode use);
  // Copies the new size of the launcher's terminal to the children's.
  void ResizeTerminals();

  // Opens and truncates a file for OpenPipe's `log`.
  absl::StatusOr<int> OpenLog(const std::string& path) { return logs_.Open(path); }

  // Prints a line of the launcher to standard error: "muster: text".
  void Say(const std::string& text);

  // Reads the bytes that are in the owner's pipes now.
  void Drain(const std::string& owner);
  // Reads the rest of all pipes, ends unfinished lines and closes the pipes.
  void Finish();

  // Returns the end of each owner's output.
  std::shared_ptr<const launcher::OutputTails> tails() const { return tails_; }

  // Returns whether all output has been shown, or cannot be.
  bool Shown();
  // Returns the number of bytes not yet written to log files.
  size_t unwritten_log_bytes() const { return logs_.pending(); }

  // Returns whether some output could not be shown. The user has been told if possible.
  bool lost() const { return lost_; }

 private:
  // A destination of output. If standard output and error are the same file, they share a screen,
  // so that lines keep their order and are not torn.
  struct Screen {
    AsyncWriter writer;
    int fd = -1;
    int sink = 0;
    LineMultiplexer lines;
    int launcher_stream = 0;  // the stream of the launcher's own lines
    bool paused = false;
  };
  struct Pipe {
    std::string owner;
    Screen* screen;
    int margin;     // width of the prefix in columns
    bool terminal;  // whether it is a pseudo-terminal
    int shown_stream;
    std::optional<int> log;
    int log_stream;
    bool shows_partial_lines;                 // also shows unfinished lines
    std::optional<absl::Time> partial_since;  // since when an unfinished line waits to be shown
  };

  Screen* ScreenOf(Stream stream) const { return stream == Stream::kStdout ? stdout_ : stderr_; }
  // Adds a pipe. Takes ownership of `reader`.
  void AddPipe(int reader, bool terminal, const std::string& owner, Screen* screen,
               const std::string& prefix, std::optional<int> log);
  absl::StatusOr<int> OpenChildStream(const std::string& owner, Stream stream,
                                      const std::string& prefix, std::optional<int> log,
                                      PtyMode use);
  void SetSize(int reader, const Pipe& pipe) const;
  std::unique_ptr<Screen> NewScreen(int fd, const std::string& name);
  void OnScreenWake(Screen* screen);
  void WatchReaders();
  void OnReaderGone(bool lost);
  // Notes whether `chunk` leaves an unfinished line, to show it when it is old enough.
  void NotePartialLine(Pipe* pipe, absl::string_view chunk);
  void SchedulePartialLines(absl::Time since);
  void ShowPartialLines();
  void PrintFailures(Screen* screen);
  void PrintWarnings();
  // Reads from the pipe once. Returns as read() does: the number of bytes, 0 at the end, negative
  // if there is nothing to read now.
  ssize_t ReadOnce(int fd);
  void Close(int fd);
  void WatchPipe(int fd);
  void PauseIfFull(Screen* screen);
  void Resume(Screen* screen);

  launcher::EventLoop* const loop_;
  const std::function<void(bool lost)> on_reader_gone_;
  LogFiles logs_;
  const std::shared_ptr<launcher::OutputTails> tails_ = std::make_shared<launcher::OutputTails>();
  std::unique_ptr<Screen> first_;   // standard output
  std::unique_ptr<Screen> second_;  // standard error, if it is another file
  Screen* const stdout_;
  Screen* const stderr_;
  std::map<int, Pipe> pipes_;  // by the descriptor that is read
  bool reader_gone_ = false;
  bool partial_lines_scheduled_ = false;  // a timer for ShowPartialLines() is set
  // Set to null by the destructor, for timers of the loop that fire later.
  const std::shared_ptr<Output*> self_ = std::make_shared<Output*>(this);
  bool lost_ = false;
  bool reported_no_terminal_ = false;
};

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_RUN_OUTPUT_H_
