#ifndef MUSTER_SERVER_JOURNAL_SEGMENT_FILE_H_
#define MUSTER_SERVER_JOURNAL_SEGMENT_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/journal/segments.h"

namespace muster::journal {

// The files of a journal, as the one who writes them has them. Blocks go to the newest, FILE. When
// that is large enough it becomes FILE.1, FILE.1 becomes FILE.2, and the oldest go, so that all of
// them together keep within the bound.
class SegmentFile final : public Segments {
 public:
  SegmentFile(std::string path, uint64_t max_bytes, std::string musterd);
  ~SegmentFile() override;
  SegmentFile(const SegmentFile&) = delete;
  SegmentFile& operator=(const SegmentFile&) = delete;

  // Goes on with the file that is there, less what a killed daemon has written by halves, or begins
  // one. Either way only this user can read it. FAILED_PRECONDITION: it is no journal, or another
  // user's, or another process writes it, or it cannot be opened.
  absl::Status Open() override;
  // What could not be written whole is taken back.
  absl::Status Append(absl::string_view block) override;
  absl::Status Rotate() override;
  absl::Status CheckRoomAfter(size_t checkpoint_bytes) const override;

  bool full() const override { return size_ >= segment_bytes_; }
  bool overdue() const override { return size_ >= 2 * segment_bytes_; }

 private:
  absl::Status Refusal(const char* why) const;
  absl::Status Lock() const;
  absl::Status GoOn(uint64_t file_bytes);
  absl::Status Begin();
  absl::Status Write(absl::string_view bytes) const;
  // Up to which byte there are whole blocks.
  uint64_t WholeBytes(uint64_t file_bytes) const;
  bool IsOfThisFormat() const;
  absl::Status MakeRoom() const;
  absl::Status Failure(const char* what) const;

  const std::string path_;
  const uint64_t max_bytes_;
  const uint64_t segment_bytes_;
  const std::string musterd_;
  int fd_ = -1;
  uint64_t size_ = 0;
};

}  // namespace muster::journal

#endif  // MUSTER_SERVER_JOURNAL_SEGMENT_FILE_H_
