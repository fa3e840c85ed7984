#ifndef MUSTER_CLIENT_CLI_OUTPUT_H_
#define MUSTER_CLIENT_CLI_OUTPUT_H_

#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/event_loop.h"
#include "client/cli/line_prefixer.h"
#include "client/cli/writer.h"

namespace muster::cli {

// Brings the output of all children, line by line, to the launcher's own standard output and error
// and to log files. When the launcher's reader is slow, it stops reading the children's pipes, and
// the children wait as they would for a slow pipe of their own.
class Output {
 public:
  enum class Stream { kStdout, kStderr };

  // `loop` must outlive the object.
  explicit Output(EventLoop* loop);
  ~Output();

  // A pipe for a child: what is written to the returned descriptor (the caller's; close it once the
  // child has it) goes to `stream` with `prefix` before each line, and unchanged to `log`.
  absl::StatusOr<int> OpenPipe(const std::string& owner, Stream stream, const std::string& prefix,
                               std::optional<int> log);

  // Opens a file for OpenPipe's `log`; an existing one is emptied.
  absl::StatusOr<int> OpenLog(const std::string& path);

  // A line of the launcher's own, on standard error: "muster: text".
  void Say(const std::string& text);

  // Takes what is in the pipes of `owner` at this moment.
  void Drain(const std::string& owner);
  // Takes what is left in all pipes, ends unended lines and closes the pipes.
  void Finish();

  // Everything has been written.
  bool Flushed() const { return writer_.pending() == 0; }

 private:
  struct Pipe {
    std::string owner;
    int sink;
    std::optional<int> log;
    LinePrefixer lines;
  };

  // As read(): the number of bytes taken, 0 at the end, negative when there is nothing to read now.
  ssize_t ReadOnce(int fd);
  void Close(int fd);
  void WatchPipe(int fd);
  void PauseIfFull();
  void Resume();

  EventLoop* const loop_;
  Writer writer_;
  const int stdout_sink_;
  const int stderr_sink_;
  std::map<int, Pipe> pipes_;  // by the descriptor that is read
  bool paused_ = false;
};

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_OUTPUT_H_
