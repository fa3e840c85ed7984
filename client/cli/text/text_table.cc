#include "client/cli/text/text_table.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/text/display_width.h"
#include "common/text/utf8.h"

namespace muster::cli {
namespace {

constexpr int kGap = 2;
constexpr int kMinColumnWidth = 8;  // the narrowest that a column becomes

int Sum(const std::vector<int>& widths) {
  return std::accumulate(widths.begin(), widths.end(),
                         kGap * (static_cast<int>(widths.size()) - 1));
}

// Returns the first line of a cell wrapped to `width`. Breaks at a space, or else at a character
// that joins parts of a name.
absl::string_view FirstLine(absl::string_view text, int width) {
  size_t fits = 0;
  size_t at_space = 0;
  size_t at_sign = 0;
  for (absl::string_view rest = text; !rest.empty();) {
    TakeCodePoint(&rest);
    const size_t end = text.size() - rest.size();
    if (DisplayWidth(text.substr(0, end)) > width) break;
    fits = end;
    if (end < text.size() && text[end] == ' ') at_space = end;
    if (absl::StrContains("-/.,_", text.substr(end - 1, 1))) at_sign = end;
  }
  if (fits == text.size()) return text;
  return text.substr(0, at_space > 0  ? at_space
                        : at_sign > 0 ? at_sign
                                      : std::max<size_t>(fits, 1));
}

std::vector<std::string> Lines(absl::string_view cell, int width) {
  std::vector<std::string> lines;
  do {
    const absl::string_view line = FirstLine(cell, width);
    lines.emplace_back(line);
    cell = absl::StripLeadingAsciiWhitespace(cell.substr(line.size()));
  } while (!cell.empty());
  return lines;
}

}  // namespace

void TextTable::AddRow(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = ReplaceUnprintable(cell);
  rows_.push_back(std::move(cells));
}

std::string TextTable::ToString(int width) const {
  const std::vector<int> widths = WidthsWithin(width);
  std::string text;
  for (const std::vector<std::string>& row : rows_) {
    std::vector<std::vector<std::string>> cells;
    size_t height = 1;
    for (size_t column = 0; column < row.size(); ++column) {
      cells.push_back(Lines(row[column], widths[column]));
      height = std::max(height, cells.back().size());
    }
    for (size_t i = 0; i < height; ++i) {
      std::string line;
      for (size_t column = 0; column < row.size(); ++column) {
        const std::string part = i < cells[column].size() ? cells[column][i] : "";
        const int padding = widths[column] - DisplayWidth(part) + kGap;
        absl::StrAppend(&line, part, std::string(padding, ' '));
      }
      absl::StrAppend(&text, absl::StripTrailingAsciiWhitespace(line), "\n");
    }
  }
  return text;
}

bool TextTable::Fits(int width) const { return width == kUnbounded || Sum(Widths()) <= width; }

std::vector<int> TextTable::WidthsWithin(int width) const {
  std::vector<int> widths = Widths();
  while (width != kUnbounded && Sum(widths) > width) {
    const auto widest = std::max_element(widths.begin(), widths.end());
    if (*widest <= kMinColumnWidth) break;
    --*widest;
  }
  return widths;
}

std::vector<int> TextTable::Widths() const {
  std::vector<int> widths;
  for (const std::vector<std::string>& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t column = 0; column < row.size(); ++column) {
      widths[column] = std::max(widths[column], DisplayWidth(row[column]));
    }
  }
  return widths;
}

}  // namespace muster::cli
