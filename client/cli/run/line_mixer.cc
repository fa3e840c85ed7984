#include "client/cli/run/line_mixer.h"

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

int LineMixer::AddStream(std::string prefix) {
  const int id = next_id_++;
  streams_[id].id = id;
  streams_[id].prefix = std::move(prefix);
  return id;
}

std::string LineMixer::Feed(int stream_id, absl::string_view chunk) {
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

bool LineMixer::HasBegun(int stream_id) const {
  const Stream& stream = streams_.at(stream_id);
  return stream.shown < stream.text.size();
}

std::string LineMixer::ShowBegun(int stream_id) {
  std::string result;
  if (HasBegun(stream_id)) Show(&streams_.at(stream_id), &result);
  return result;
}

std::string LineMixer::Finish(int stream_id, bool end_line) {
  Stream* const stream = &streams_.at(stream_id);
  std::string result;
  if (stream->shown < stream->text.size()) Show(stream, &result);
  if (end_line && open_ == stream_id) OnNewline(stream, &result);
  streams_.erase(stream_id);
  return result;
}

void LineMixer::Append(Stream* stream, absl::string_view piece, std::string* result) {
  while (stream->text.size() + piece.size() > kMaxLineBytes) {
    const size_t fits = kMaxLineBytes - stream->text.size();
    absl::StrAppend(&stream->text, piece.substr(0, fits));
    OnNewline(stream, result);
    piece.remove_prefix(fits);
  }
  absl::StrAppend(&stream->text, piece);
}

void LineMixer::Show(Stream* stream, std::string* result) {
  if (open_ == stream->id && !at_start_) {
    absl::StrAppend(result, absl::string_view(stream->text).substr(stream->shown));
  } else {
    EndOther(*stream, result);
    absl::StrAppend(result, stream->prefix, stream->text);
  }
  open_ = stream->id;
  at_start_ = false;
  stream->shown = stream->text.size();
  stream->stands = false;
}

void LineMixer::EndOther(const Stream& stream, std::string* result) {
  if (open_ == kNobody || open_ == stream.id) return;
  if (!stream.is_bar) {
    absl::StrAppend(result, "\n");
    const auto other = streams_.find(open_);
    if (other != streams_.end()) other->second.stands = true;
  } else if (!at_start_) {
    absl::StrAppend(result, "\r");
  }
}

void LineMixer::OnNewline(Stream* stream, std::string* result) {
  const bool was_shown = stream->is_bar || stream->shown > 0;
  const bool nothing_new = was_shown && stream->shown == stream->text.size();
  if (nothing_new && !EndsALine(*stream)) {
    // A line of another stream has already ended this text.
  } else {
    const bool all_there = nothing_new && (open_ == stream->id || stream->text.empty());
    if (!all_there) Show(stream, result);
    absl::StrAppend(result, "\n");
    open_ = kNobody;
    at_start_ = false;
  }
  stream->text.clear();
  stream->shown = 0;
  stream->is_bar = stream->stands = false;
}

bool LineMixer::EndsALine(const Stream& shown) const {
  if (open_ == shown.id) return true;
  if (shown.stands) return false;
  return !shown.text.empty() || open_ == kNobody;
}

void LineMixer::OnReturn(Stream* stream, std::string* result) {
  const bool all_shown = stream->is_bar && stream->shown == stream->text.size();
  stream->is_bar = true;
  if (!all_shown && !stream->text.empty()) Show(stream, result);
  // If another stream's text has displaced the bar, there is nothing to return to.
  if (open_ == stream->id || (open_ == kNobody && stream->text.empty())) {
    absl::StrAppend(result, "\r");
    at_start_ = open_ == stream->id;
  }
  stream->text.clear();
  stream->shown = 0;
  stream->stands = false;
}

}  // namespace muster::cli
