#ifndef MUSTER_SERVER_JOURNAL_REPLAY_READER_H_
#define MUSTER_SERVER_JOURNAL_REPLAY_READER_H_

#include <cstdint>
#include <istream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/journal/journal.pb.h"

namespace muster::journal {

// A reader of one file of a journal, record by record:
//
//   absl::StatusOr<std::unique_ptr<Reader>> reader = Reader::Open("journal");
//   if (!reader.ok()) return reader.status();
//   while (std::optional<Record> record = (*reader)->Next()) ...
//   if (!(*reader)->ending().empty()) std::cerr << (*reader)->ending();
class Reader {
 public:
  // Opens a journal. `name` is for errors. FAILED_PRECONDITION: the file is not a journal, or its
  // format is newer. NOT_FOUND: it cannot be opened.
  static absl::StatusOr<std::unique_ptr<Reader>> Open(std::unique_ptr<std::istream> in,
                                                      const std::string& name);
  static absl::StatusOr<std::unique_ptr<Reader>> Open(const std::string& path);

  // Returns the next record. Returns nullopt at the end, and where the rest cannot be read;
  // ending() then says why.
  std::optional<Record> Next();
  // Returns what is wrong with the end of the file, for people: its last block is incomplete, or it
  // is damaged. Empty if nothing is wrong.
  const std::string& ending() const { return ending_; }
  // Returns whether the file is damaged. An incomplete last block does not count as damage,
  // since a daemon that is killed while it writes leaves one.
  bool damaged() const { return damaged_; }
  // Returns the version of musterd that wrote the file.
  const std::string& musterd() const { return header_.musterd(); }

 private:
  Reader(std::unique_ptr<std::istream> in, std::string name);
  absl::Status ReadHeader();
  bool ReadBlock();
  bool EndHere(const std::string& why);

  const std::unique_ptr<std::istream> in_;
  const std::string name_;
  uint64_t offset_ = 0;  // of the next byte to read
  Header header_;
  Block block_;
  int next_ = 0;  // index of the block's next record
  std::string ending_;
  bool damaged_ = false;
};

// Returns the existing files of a journal, oldest first. If `path` is one of the older files,
// returns that file alone.
std::vector<std::string> SegmentsOf(const std::string& path);

// Opens the files of a journal as they are at one moment. A daemon that writes the journal may
// rename or remove them at any time; open files are not affected.
std::vector<absl::StatusOr<std::unique_ptr<Reader>>> OpenSegments(const std::string& path);

}  // namespace muster::journal

#endif  // MUSTER_SERVER_JOURNAL_REPLAY_READER_H_
