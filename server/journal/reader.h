#ifndef MUSTER_SERVER_JOURNAL_READER_H_
#define MUSTER_SERVER_JOURNAL_READER_H_

#include <cstdint>
#include <istream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/journal/journal.pb.h"

namespace muster::journal {

// Reads one file of a journal, record by record.
class Reader {
 public:
  // `name` is for errors. FAILED_PRECONDITION: it is no journal, or one of a newer format.
  static absl::StatusOr<std::unique_ptr<Reader>> Open(std::unique_ptr<std::istream> in,
                                                      const std::string& name);
  static absl::StatusOr<std::unique_ptr<Reader>> Open(const std::string& path);

  // Nullopt at the end; also where the rest cannot be read, which `ending` tells then.
  std::optional<Record> Next();
  // What is odd about the end, for people: it was written by halves, or is damaged. Empty: nothing.
  const std::string& ending() const { return ending_; }
  // Not by a daemon that was killed while it wrote, which is nothing out of the ordinary.
  bool damaged() const { return damaged_; }
  // The version of musterd that wrote it.
  const std::string& musterd() const { return header_.musterd(); }

 private:
  Reader(std::unique_ptr<std::istream> in, std::string name);
  absl::Status ReadHeader();
  bool ReadBlock();
  bool EndHere(const std::string& why);

  const std::unique_ptr<std::istream> in_;
  const std::string name_;
  uint64_t offset_ = 0;  // of what is read next
  Header header_;
  Block block_;
  int next_ = 0;  // of its records
  std::string ending_;
  bool damaged_ = false;
};

// The files of a journal that are there, the oldest first. `path` may itself be one of the older
// ones: then it stands for itself alone.
std::vector<std::string> SegmentsOf(const std::string& path);

// The same, opened at one moment: a daemon that writes the journal renames and removes them, which
// takes nothing from who has them open.
std::vector<absl::StatusOr<std::unique_ptr<Reader>>> OpenSegments(const std::string& path);

}  // namespace muster::journal

#endif  // MUSTER_SERVER_JOURNAL_READER_H_
