#ifndef MUSTER_CLIENT_CLI_TEXT_TABLE_H_
#define MUSTER_CLIENT_CLI_TEXT_TABLE_H_

#include <string>
#include <vector>

namespace muster::cli {

// Rows of text in left-aligned columns, as wide on a terminal as their widest cell and two spaces
// apart. Control characters in cells are shown as '?'.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header) { AddRow(std::move(header)); }

  // Rows may have different numbers of cells.
  void AddRow(std::vector<std::string> cells);

  bool empty() const { return rows_.size() == 1; }
  // Whether each row is one line within `width`.
  bool Fits(int width) const;

  static constexpr int kUnbounded = 0;

  // The header and the rows, a line each; without spaces at the ends of lines. Where that is wider
  // than `width` the widest columns become narrower, and their cells several lines.
  std::string ToString(int width = kUnbounded) const;

 private:
  std::vector<int> Widths() const;
  std::vector<int> WidthsWithin(int width) const;

  std::vector<std::vector<std::string>> rows_;
};

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_TEXT_TABLE_H_
