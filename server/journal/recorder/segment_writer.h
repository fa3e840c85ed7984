#ifndef MUSTER_SERVER_JOURNAL_RECORDER_SEGMENT_WRITER_H_
#define MUSTER_SERVER_JOURNAL_RECORDER_SEGMENT_WRITER_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace muster::journal {

// A sequence of segments that takes a journal's blocks; they go to the newest segment. Every
// function may block as long as the disk does. After an error no function is called any more.
class SegmentWriter {
 public:
  virtual ~SegmentWriter() = default;
  // Opens the segments. Called first. FAILED_PRECONDITION says why nothing can be written.
  virtual absl::Status Open() = 0;
  virtual absl::Status Append(absl::string_view block) = 0;
  // Begins a new segment.
  virtual absl::Status Rotate() = 0;
  // Returns FAILED_PRECONDITION, naming a larger bound, if a segment that begins with a checkpoint
  // of this size would soon be full again. The journal would then consist of checkpoints only.
  virtual absl::Status CheckRoomAfter(size_t checkpoint_bytes) const = 0;

  // Returns whether a new segment is due.
  virtual bool full() const = 0;
  // Returns whether the segment is so full that it must take no more blocks.
  virtual bool overdue() const = 0;
};

}  // namespace muster::journal

#endif  // MUSTER_SERVER_JOURNAL_RECORDER_SEGMENT_WRITER_H_
