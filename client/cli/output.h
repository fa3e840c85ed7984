#ifndef MUSTER_CLIENT_CLI_OUTPUT_H_
#define MUSTER_CLIENT_CLI_OUTPUT_H_

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cli/launch_plan.h"
#include "client/cli/line_mixer.h"
#include "client/cli/log_files.h"
#include "client/cli/writer.h"
#include "client/launcher/event_loop.h"
#include "client/launcher/output_tails.h"

namespace muster::cli {

// Brings the output of all children, line by line, to the launcher's own standard output and error
// and to log files. A line that takes its time, as a prompt does, is shown as far as it has come,
// but not without a prefix into a file or pipe: programs read those. When the launcher's reader is
// slow, it stops reading the children's pipes, and the children wait as they would for a slow pipe
// of their own. They never wait for a log file. A pipe may be a pseudo-terminal.
class Output {
 public:
  enum class Stream { kStdout, kStderr };

  // `loop` must outlive the object. `on_reader_gone` is called once, by the loop, when standard
  // output or error is a pipe that nobody reads any more: at the next write, or some time later.
  // It is told whether that has lost output.
  Output(launcher::EventLoop* loop, std::function<void(bool lost)> on_reader_gone);
  ~Output();

  // A pipe for a child: what is written to the returned descriptor (the caller's; close it once the
  // child has it) goes to `stream` with `prefix` before each line, and without it to `log`.
  absl::StatusOr<int> OpenPipe(const std::string& owner, Stream stream, const std::string& prefix,
                               std::optional<int> log);

  // What one child writes, both ends the caller's; they may be one.
  struct ChildEnds {
    int out = -1;
    int err = -1;
  };
  // The same for both of a child's streams. Each is a pseudo-terminal where `use` says so, and both
  // are the same one where they go to the same place. A pipe where none can be had, which is said
  // once.
  absl::StatusOr<ChildEnds> OpenChild(const std::string& owner, const std::string& prefix,
                                      std::optional<int> log, PtyUse use);
  // The terminal has another size now: so have the children's.
  void ResizeTerminals();

  // Opens a file for OpenPipe's `log`; an existing one is emptied.
  absl::StatusOr<int> OpenLog(const std::string& path) { return logs_.Open(path); }

  // A line of the launcher's own, on standard error: "muster: text".
  void Say(const std::string& text);

  // Takes what is in the pipes of `owner` at this moment.
  void Drain(const std::string& owner);
  // Takes what is left in all pipes, ends unended lines and closes the pipes.
  void Finish();

  // The last of what each owner has written.
  std::shared_ptr<const launcher::OutputTails> tails() const { return tails_; }

  // All that is to be shown has been, or cannot be.
  bool Shown();
  // What is still to be written into log files.
  size_t unwritten_log_bytes() const { return logs_.pending(); }

  // Some output could not be shown, which was said where that was possible.
  bool lost() const { return lost_; }

 private:
  // Where output is shown. Standard output and error are one where they are one file, so that what
  // is written to both keeps its order, and its lines.
  struct Screen {
    Writer writer;
    int fd = -1;
    int sink = 0;
    LineMixer lines;
    int own_lines = 0;  // the launcher's stream
    bool paused = false;
  };
  struct Pipe {
    std::string owner;
    Screen* screen;
    int margin;     // columns of the prefix
    bool terminal;  // it is a pseudo-terminal
    int shown_stream;
    std::optional<int> log;
    int log_stream;
    bool shows_begun;                 // lines too that have not ended
    std::optional<absl::Time> begun;  // since when there is one that was not shown
  };

  Screen* ScreenOf(Stream stream) const { return stream == Stream::kStdout ? stdout_ : stderr_; }
  // Takes the reading end.
  void AddPipe(int reader, bool terminal, const std::string& owner, Screen* screen,
               const std::string& prefix, std::optional<int> log);
  absl::StatusOr<int> OpenEnd(const std::string& owner, Stream stream, const std::string& prefix,
                              std::optional<int> log, PtyUse use);
  void SetSize(int reader, const Pipe& pipe) const;
  std::unique_ptr<Screen> NewScreen(int fd, const std::string& name);
  void OnScreenWake(Screen* screen);
  void WatchReaders();
  void OnReaderGone(bool lost);
  // Notes whether `chunk` leaves a line begun, which will be shown when it is old enough.
  void NoteBegun(Pipe* pipe, absl::string_view chunk);
  void AwaitBegun(absl::Time since);
  void ShowBegun();
  void TakeFailures(Screen* screen);
  void TakeComplaints();
  // As read(): the number of bytes taken, 0 at the end, negative when there is nothing to read now.
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
  std::unique_ptr<Screen> second_;  // standard error, where that is another file
  Screen* const stdout_;
  Screen* const stderr_;
  std::map<int, Pipe> pipes_;  // by the descriptor that is read
  bool reader_gone_ = false;
  bool awaits_begun_ = false;  // ShowBegun() is due some time
  // Timers of the loop may come when this object has gone.
  const std::shared_ptr<Output*> self_ = std::make_shared<Output*>(this);
  bool lost_ = false;
  bool said_no_terminal_ = false;
};

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_OUTPUT_H_
