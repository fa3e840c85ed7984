#ifndef MUSTER_CLIENT_CLI_RUN_LINE_MULTIPLEXER_H_
#define MUSTER_CLIENT_CLI_RUN_LINE_MULTIPLEXER_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"

namespace muster::cli {

// Merges the output of several processes for one reader. Lines are never torn, and each has the
// prefix of its process.
//
//   const int a = multiplexer.AddStream("[0] ");
//   const int b = multiplexer.AddStream("[1] ");
//   multiplexer.Feed(a, "hel");   // ""
//   multiplexer.Feed(b, "hi\n");  // "[1] hi\n"
//   multiplexer.Feed(a, "lo\n");  // "[0] hello\n"
//
// A line passes when its '\n' comes. ShowPartialLine() passes an unfinished one, such as a prompt.
// If another process then writes, the unfinished text becomes a line, and the complete line follows
// later.
//
// Text after a '\r' passes at once, because it is a progress bar, whose '\n' may come hours later.
// If another process then writes a line, '\n' ends the bar first; another bar replaces it with
// '\r'. All other bytes pass unchanged, zeros included.
class LineMultiplexer {
 public:
  // A longer line passes in pieces of this size, each as a line of its own. This bounds the memory
  // for a line that never ends.
  static constexpr size_t kMaxLineBytes = 1 << 20;

  // Adds a stream and returns its number. `prefix` may be empty.
  int AddStream(std::string prefix);

  // Adds a chunk to the stream, and returns the text that may pass now.
  std::string Feed(int stream, absl::string_view chunk);

  // Returns whether the stream has an unfinished line with text that has not passed.
  bool HasPartialLine(int stream) const;
  // Returns the text of an unfinished line that has not passed.
  std::string ShowPartialLine(int stream);

  // Removes the stream and returns its unfinished text. With `end_line`, a '\n' ends it; else the
  // next stream that writes ends it.
  std::string Finish(int stream, bool end_line);

 private:
  struct Stream {
    int id = 0;
    std::string prefix;
    std::string text;             // since the last '\n' or '\r'
    size_t shown = 0;             // how much of `text` has passed
    bool is_bar = false;          // a '\r' precedes `text`, or ends it
    bool ended_by_other = false;  // the part that has passed has become a line of its own
  };
  static constexpr int kNoStream = -1;

  void Append(Stream* stream, absl::string_view piece, std::string* result);
  void Show(Stream* stream, std::string* result);
  void EndOther(const Stream& stream, std::string* result);
  void OnNewline(Stream* stream, std::string* result);
  void OnReturn(Stream* stream, std::string* result);
  // Returns whether a '\n' after this text, all of which has passed, still ends a line.
  bool EndsLine(const Stream& shown) const;

  std::map<int, Stream> streams_;
  int next_id_ = 0;
  // The stream whose text ends everything that has passed, without '\n'.
  int open_stream_ = kNoStream;
  bool at_line_start_ = false;  // the text of `open_stream_` ends with '\r'
};

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_RUN_LINE_MULTIPLEXER_H_
