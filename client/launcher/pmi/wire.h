#ifndef MUSTER_CLIENT_LAUNCHER_PMI_WIRE_H_
#define MUSTER_CLIENT_LAUNCHER_PMI_WIRE_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

// The lines of PMI-1, the protocol between the ranks of an MPI program and their launcher. MPICH
// specifies it in src/pmi/maint/pmi-1.1.txt.
//
//   cmd=put kvsname=kvs_7 key=P0-businesscard value=description#node0$port#4711
//   cmd=put_result rc=0
namespace muster::launcher::pmi {

// The limits that get_maxes announces. The lengths count the terminating NUL of the clients.
inline constexpr int kMaxNameLength = 256;
inline constexpr int kMaxKeyLength = 64;
inline constexpr int kMaxValueLength = 1024;
// The longest line, without its newline. A client may put a backslash before each byte of a value.
inline constexpr size_t kMaxLine = 4096;

// A command of a rank.
struct Command {
  std::string name;
  std::map<std::string, std::string> arguments;  // values as on the wire, backslashes included

  // Returns nullptr if the command does not have this argument.
  const std::string* Find(const std::string& key) const;
  // Returns nullopt if the argument is missing, or is not a decimal number.
  std::optional<int> Number(const std::string& key) const;
};

// Parses "cmd=NAME KEY=VALUE ...". A backslash before a space makes it a part of the value. Returns
// nullopt if the line does not begin with a command, has a NUL byte, or a value without a key.
std::optional<Command> ParseCommand(absl::string_view line);

// Removes the backslashes that a client has put before spaces and other bytes of a value.
std::string Unescape(absl::string_view value);

// Values that ranks have put, by key, as on the wire.
using Values = std::map<std::string, std::string>;

// Returns the values as bytes, for the launchers of other nodes; ParseValues() reads them. A line
// of PMI-1 has no newline, so neither has a key or a value.
std::string SerializeValues(const Values& values);
void ParseValues(absl::string_view bytes, Values* values);

// Cuts a stream into lines.
class LineReader {
 public:
  // Adds bytes of the stream and returns the lines that are now complete, without newlines.
  std::vector<std::string> Add(absl::string_view bytes);
  // Returns whether a line was longer than kMaxLine. Then Add() returns no more lines.
  bool overflowed() const { return overflowed_; }

 private:
  std::string rest_;  // the beginning of the next line
  bool overflowed_ = false;
};

}  // namespace muster::launcher::pmi

#endif  // MUSTER_CLIENT_LAUNCHER_PMI_WIRE_H_
