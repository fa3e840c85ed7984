#include "client/cli/line_prefixer.h"

#include "absl/strings/str_cat.h"

namespace muster::cli {

std::string LinePrefixer::Feed(absl::string_view chunk) {
  std::string lines;
  for (size_t end; (end = chunk.find('\n')) != absl::string_view::npos;) {
    AppendPartial(chunk.substr(0, end), &lines);
    absl::StrAppend(&lines, prefix_, partial_, "\n");
    partial_.clear();
    chunk.remove_prefix(end + 1);
  }
  AppendPartial(chunk, &lines);
  return lines;
}

std::string LinePrefixer::Finish() { return partial_.empty() ? "" : Feed("\n"); }

void LinePrefixer::AppendPartial(absl::string_view piece, std::string* lines) {
  while (partial_.size() + piece.size() > kMaxLineBytes) {
    const size_t fits = kMaxLineBytes - partial_.size();
    absl::StrAppend(lines, prefix_, partial_, piece.substr(0, fits), "\n");
    partial_.clear();
    piece.remove_prefix(fits);
  }
  absl::StrAppend(&partial_, piece);
}

}  // namespace muster::cli
