#ifndef MUSTER_SERVER_JOURNAL_RECORDER_FILE_SEGMENT_WRITER_H_
#define MUSTER_SERVER_JOURNAL_RECORDER_FILE_SEGMENT_WRITER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/journal/recorder/segment_writer.h"

namespace muster::journal {

// The files of a journal, for writing. Blocks go to the newest file, FILE. When that is large
// enough, FILE becomes FILE.1, FILE.1 becomes FILE.2, and so on; the oldest files are removed, so
// that all of them together stay within `max_bytes`.
class FileSegmentWriter final : public SegmentWriter {
 public:
  FileSegmentWriter(std::string path, uint64_t max_bytes, std::string musterd);
  ~FileSegmentWriter() override;
  FileSegmentWriter(const FileSegmentWriter&) = delete;
  FileSegmentWriter& operator=(const FileSegmentWriter&) = delete;

  // Opens the file, or creates it, readable by this user only. If a killed daemon has left an
  // incomplete block at its end, removes that block. FAILED_PRECONDITION: the file is not a
  // journal, belongs to another user, is written by another process, or cannot be opened.
  absl::Status Open() override;
  // Appends a block. If a write fails half-way, removes the part that was written.
  absl::Status Append(absl::string_view block) override;
  absl::Status Rotate() override;
  absl::Status CheckRoomAfter(size_t checkpoint_bytes) const override;

  bool full() const override { return size_ >= segment_bytes_; }
  bool overdue() const override { return size_ >= 2 * segment_bytes_; }

 private:
  absl::Status Refusal(const char* why) const;
  absl::Status Lock() const;
  absl::Status Resume(uint64_t file_bytes);
  absl::Status Begin();
  absl::Status Write(absl::string_view bytes) const;
  // Returns the size of the part that consists of whole blocks.
  uint64_t WholeBytes(uint64_t file_bytes) const;
  bool HasCurrentFormat() const;
  absl::Status ShiftSegments() const;
  absl::Status Failure(const char* what) const;

  const std::string path_;
  const uint64_t max_bytes_;
  const uint64_t segment_bytes_;
  const std::string musterd_;
  int fd_ = -1;
  uint64_t size_ = 0;
};

}  // namespace muster::journal

#endif  // MUSTER_SERVER_JOURNAL_RECORDER_FILE_SEGMENT_WRITER_H_
