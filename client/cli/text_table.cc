#include "client/cli/text_table.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/cli/display_width.h"
#include "common/utf8.h"

namespace muster::cli {
namespace {

constexpr int kGap = 2;

}  // namespace

void TextTable::AddRow(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = Printable(cell);
  rows_.push_back(std::move(cells));
}

std::string TextTable::ToString() const {
  const std::vector<int> widths = Widths();
  std::string text;
  for (const std::vector<std::string>& row : rows_) {
    std::string line;
    for (size_t column = 0; column < row.size(); ++column) {
      const int padding = widths[column] - DisplayWidth(row[column]) + kGap;
      absl::StrAppend(&line, row[column], std::string(padding, ' '));
    }
    absl::StrAppend(&text, absl::StripTrailingAsciiWhitespace(line), "\n");
  }
  return text;
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
