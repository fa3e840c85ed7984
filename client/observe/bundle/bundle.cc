#include "client/observe/bundle/bundle.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace muster::observe {
namespace {

constexpr char kTruncated[] = "... (cut)\n";
// Replaces a line whose beginning is cut off, because the beginning would show that a secret
// follows.
constexpr char kLongLine[] = "(one line, too long to be shown)\n";

size_t SizeOf(const std::vector<File>& files) {
  size_t size = 0;
  for (const File& file : files) size += file.name.size() + file.content.size();
  return size;
}

}  // namespace

std::string TruncateText(std::string text, size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  const size_t room = max_bytes < sizeof(kTruncated) ? 0 : max_bytes - sizeof(kTruncated);
  const size_t end = text.rfind('\n', room);
  text.resize(end == std::string::npos || room == 0 ? room : end + 1);
  return absl::StrCat(text, kTruncated);
}

std::string LastLines(absl::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  // Progress bars end their lines with a carriage return only.
  const size_t end = text.find_first_of("\n\r", text.size() - max_bytes - 1);
  return end == absl::string_view::npos || end + 1 == text.size()
             ? kLongLine
             : std::string(text.substr(end + 1));
}

void Shrink(std::vector<File>* files, size_t max_bytes) {
  while (SizeOf(*files) > max_bytes) {
    const auto longest = std::max_element(
        files->begin(), files->end(),
        [](const File& a, const File& b) { return a.content.size() < b.content.size(); });
    const size_t excess = SizeOf(*files) - max_bytes;
    const size_t size = longest->content.size();
    if (size <= sizeof(kTruncated)) {
      files->pop_back();
    } else {
      longest->content = TruncateText(std::move(longest->content),
                                      std::max(size > excess ? size - excess : 0, size / 2));
    }
  }
}

}  // namespace muster::observe
