#ifndef MUSTER_CLIENT_CLI_RUN_LOG_FILES_H_
#define MUSTER_CLIENT_CLI_RUN_LOG_FILES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cli/run/async_writer.h"
#include "client/cli/run/line_multiplexer.h"

namespace muster::cli {

// Copies of the ranks' output in files. Ranks never wait for them: if a file cannot be written as
// fast as the ranks write, some output is dropped, and the file says how much and where. Call from
// one thread at a time. Only Open() blocks, on the file system.
class LogFiles {
 public:
  // Limit of the unwritten bytes of all files together.
  static constexpr size_t kMaxBacklog = 64 << 20;

  // Opens a file, which it truncates, and returns the log's number.
  absl::StatusOr<int> Open(const std::string& path);

  // Adds a stream to a log. Several streams of one log share it line by line, without prefixes.
  int AddStream(int log);
  void Write(int log, int stream, absl::string_view chunk);
  // Ends the stream; its number is no longer valid.
  void Finish(int log, int stream);

  // Returns messages for the user since the last call: files that cannot be written, or not fast
  // enough. Reports each file once.
  std::vector<std::string> TakeWarnings();

  size_t pending() const { return writer_.pending(); }
  // Becomes readable when pending() falls to 0, or there is a message.
  int wake_fd() const { return writer_.wake_fd(); }
  void ClearWake() { writer_.ClearWake(); }

 private:
  struct Log {
    std::string path;
    int sink = 0;
    LineMultiplexer lines;
    size_t missing = 0;  // bytes dropped since the last note in the file
    bool was_slow = false;
  };

  void DropOutput(Log* log, size_t bytes);
  void NoteDroppedBytes(Log* log);

  AsyncWriter writer_;
  std::vector<Log> logs_;
  std::vector<std::string> warnings_;
};

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_RUN_LOG_FILES_H_
