#include "client/cli/run/line_multiplexer.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::cli {
namespace {

// Calls memchr() twice, because find_first_of() is slower: it compares one byte at a time.
size_t FindEnd(absl::string_view chunk) {
  return chunk.substr(0, chunk.find('\n')).find('\r') != absl::string_view::npos ? chunk.find('\r')
                                                                                 : chunk.find('\n');
}

}  // namespace

int LineMultiplexer::AddStream(std::string prefix) {
  const int id = next_id_++;
  streams_[id].id = id;
  streams_[id].prefix = std::move(prefix);
  return id;
}

std::string LineMultiplexer::Feed(int stream_id, absl::string_view chunk) {
  Stream* const stream = &streams_.at(stream_id);
  std::string result;
  for (size_t end; (end = FindEnd(chunk)) != absl::string_view::npos;) {
    Append(stream, chunk.substr(0, end), &result);
    chunk[end] == '\n' ? OnNewline(stream, &result) : OnReturn(stream, &result);
    chunk.remove_prefix(end + 1);
  }
  Append(stream, chunk, &result);
  if (stream->is_bar && stream->shown < stream->text.size()) Show(stream, &result);
  return result;
}

bool LineMultiplexer::HasPartialLine(int stream_id) const {
  const Stream& stream = streams_.at(stream_id);
  return stream.shown < stream.text.size();
}

std::string LineMultiplexer::ShowPartialLine(int stream_id) {
  std::string result;
  if (HasPartialLine(stream_id)) Show(&streams_.at(stream_id), &result);
  return result;
}

std::string LineMultiplexer::Finish(int stream_id, bool end_line) {
  Stream* const stream = &streams_.at(stream_id);
  std::string result;
  if (stream->shown < stream->text.size()) Show(stream, &result);
  if (end_line && open_stream_ == stream_id) OnNewline(stream, &result);
  streams_.erase(stream_id);
  return result;
}

void LineMultiplexer::Append(Stream* stream, absl::string_view piece, std::string* result) {
  while (stream->text.size() + piece.size() > kMaxLineBytes) {
    const size_t fits = kMaxLineBytes - stream->text.size();
    absl::StrAppend(&stream->text, piece.substr(0, fits));
    OnNewline(stream, result);
    piece.remove_prefix(fits);
  }
  absl::StrAppend(&stream->text, piece);
}

void LineMultiplexer::Show(Stream* stream, std::string* result) {
  if (open_stream_ == stream->id && !at_line_start_) {
    absl::StrAppend(result, absl::string_view(stream->text).substr(stream->shown));
  } else {
    EndOther(*stream, result);
    absl::StrAppend(result, stream->prefix, stream->text);
  }
  open_stream_ = stream->id;
  at_line_start_ = false;
  stream->shown = stream->text.size();
  stream->ended_by_other = false;
}

void LineMultiplexer::EndOther(const Stream& stream, std::string* result) {
  if (open_stream_ == kNoStream || open_stream_ == stream.id) return;
  if (!stream.is_bar) {
    absl::StrAppend(result, "\n");
    const auto other = streams_.find(open_stream_);
    if (other != streams_.end()) other->second.ended_by_other = true;
  } else if (!at_line_start_) {
    absl::StrAppend(result, "\r");
  }
}

void LineMultiplexer::OnNewline(Stream* stream, std::string* result) {
  const bool was_shown = stream->is_bar || stream->shown > 0;
  const bool nothing_new = was_shown && stream->shown == stream->text.size();
  if (nothing_new && !EndsLine(*stream)) {
    // A line of another stream has already ended this text.
  } else {
    const bool all_there = nothing_new && (open_stream_ == stream->id || stream->text.empty());
    if (!all_there) Show(stream, result);
    absl::StrAppend(result, "\n");
    open_stream_ = kNoStream;
    at_line_start_ = false;
  }
  stream->text.clear();
  stream->shown = 0;
  stream->is_bar = stream->ended_by_other = false;
}

bool LineMultiplexer::EndsLine(const Stream& shown) const {
  if (open_stream_ == shown.id) return true;
  if (shown.ended_by_other) return false;
  return !shown.text.empty() || open_stream_ == kNoStream;
}

void LineMultiplexer::OnReturn(Stream* stream, std::string* result) {
  const bool all_shown = stream->is_bar && stream->shown == stream->text.size();
  stream->is_bar = true;
  if (!all_shown && !stream->text.empty()) Show(stream, result);
  // If another stream's text has displaced the bar, there is nothing to return to.
  if (open_stream_ == stream->id || (open_stream_ == kNoStream && stream->text.empty())) {
    absl::StrAppend(result, "\r");
    at_line_start_ = open_stream_ == stream->id;
  }
  stream->text.clear();
  stream->shown = 0;
  stream->ended_by_other = false;
}

}  // namespace muster::cli
