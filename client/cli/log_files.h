#ifndef MUSTER_CLIENT_CLI_LOG_FILES_H_
#define MUSTER_CLIENT_CLI_LOG_FILES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cli/line_mixer.h"
#include "client/cli/writer.h"

namespace muster::cli {

// Copies of the ranks' output in files. Nothing waits for them: where they cannot be written as
// fast as the ranks write, some output is left out, and the file says how much and where. Its calls
// may come from one thread at a time; none of them blocks but Open(), on the file system.
class LogFiles {
 public:
  // What may wait to be written, of all files together.
  static constexpr size_t kMaxBacklog = 64 << 20;

  // Empties a file that exists. Returns the log's number.
  absl::StatusOr<int> Open(const std::string& path);

  // A stream into a log; several into one log share it line by line, otherwise unchanged.
  int AddStream(int log);
  void Write(int log, int stream, absl::string_view chunk);
  // The stream has ended; its number is not valid any more.
  void Finish(int log, int stream);

  // What the user should know, since the last call: files that cannot be written, or not fast
  // enough. Once for each.
  std::vector<std::string> TakeComplaints();

  size_t pending() const { return writer_.pending(); }
  // Becomes readable when nothing is pending any more, or there is a complaint.
  int wake_fd() const { return writer_.wake_fd(); }
  void ClearWake() { writer_.ClearWake(); }

 private:
  struct Log {
    std::string path;
    int sink = 0;
    LineMixer lines;
    size_t missing = 0;  // bytes left out since the last note
    bool was_slow = false;
  };

  void LeaveOut(Log* log, size_t bytes);
  void NoteWhatIsMissing(Log* log);

  Writer writer_;
  std::vector<Log> logs_;
  std::vector<std::string> complaints_;
};

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_LOG_FILES_H_
