#ifndef MUSTER_CLIENT_CLI_TEXT_TEXT_TABLE_H_
#define MUSTER_CLIENT_CLI_TEXT_TEXT_TABLE_H_

#include <string>
#include <vector>

namespace muster::cli {

// A table of text with left-aligned columns, two spaces apart. Each column is as wide on a terminal
// as its widest cell. Control characters in cells are shown as '?'.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header) { AddRow(std::move(header)); }

  // Rows may have different numbers of cells.
  void AddRow(std::vector<std::string> cells);

  bool empty() const { return rows_.size() == 1; }
  // Returns whether every row fits on one line of `width` columns.
  bool Fits(int width) const;

  static constexpr int kUnbounded = 0;

  // Returns the header and the rows, one line each, without trailing spaces. If a line would be
  // wider than `width`, makes the widest columns narrower and wraps their cells.
  std::string ToString(int width = kUnbounded) const;

 private:
  std::vector<int> Widths() const;
  std::vector<int> WidthsWithin(int width) const;

  std::vector<std::vector<std::string>> rows_;
};

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_TEXT_TEXT_TABLE_H_
