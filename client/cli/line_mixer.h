#ifndef MUSTER_CLIENT_CLI_LINE_MIXER_H_
#define MUSTER_CLIENT_CLI_LINE_MIXER_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"

namespace muster::cli {

// Mixes the output of several processes for one reader, so that no line is torn and each has its
// process's prefix.
//
// A line is passed on when its '\n' has come, or when ShowBegun() asks for what there is of it:
// where another process writes in between, that becomes a line by itself, and the whole one comes
// once more. What follows a '\r' is passed on at once: it is a progress bar or the like, and its
// '\n' may come hours later. Where another process writes in between, a line first ends such a bar
// with '\n'; another bar takes its place with '\r'. All other bytes, zeros included, are passed on
// as they are.
class LineMixer {
 public:
  // A longer line is passed on in pieces of this size, each as a line: something must bound what is
  // kept for an end that may never come.
  static constexpr size_t kMaxLineBytes = 1 << 20;

  // Returns the stream's number. `prefix` may be empty.
  int AddStream(std::string prefix);

  // What `chunk` lets pass.
  std::string Feed(int stream, absl::string_view chunk);

  // A line was begun, and what there is of it has not been passed on.
  bool HasBegun(int stream) const;
  // Passes that on.
  std::string ShowBegun(int stream);

  // The stream has ended: what it had begun. With `end_line` that is ended as a line; else it
  // stays open, and whoever writes next ends it. The number is not valid any more.
  std::string Finish(int stream, bool end_line);

 private:
  struct Stream {
    int id = 0;
    std::string prefix;
    std::string text;     // since the last '\n' or '\r'
    size_t shown = 0;     // how much of `text` has been passed on
    bool is_bar = false;  // `text` follows, or ends with, a '\r'
    bool stands = false;  // what was shown of it has become a line by itself
  };
  static constexpr int kNobody = -1;

  void Append(Stream* stream, absl::string_view piece, std::string* result);
  void Show(Stream* stream, std::string* result);
  void EndOther(const Stream& stream, std::string* result);
  void OnNewline(Stream* stream, std::string* result);
  void OnReturn(Stream* stream, std::string* result);
  // A '\n' after this text, all of which has been passed on, has something to end.
  bool EndsALine(const Stream& shown) const;

  std::map<int, Stream> streams_;
  int next_id_ = 0;
  int open_ = kNobody;     // whose text stands without a '\n' at the end of all that was passed on
  bool at_start_ = false;  // that text ends with a '\r'
};

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_LINE_MIXER_H_
