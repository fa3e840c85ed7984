#ifndef MUSTER_SERVER_JOURNAL_SEGMENTS_H_
#define MUSTER_SERVER_JOURNAL_SEGMENTS_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace muster::journal {

// Where a journal's blocks go: into the newest of several segments. Every call may block as long as
// the disk does; after an error nothing else is called.
class Segments {
 public:
  virtual ~Segments() = default;
  // Comes first. FAILED_PRECONDITION says why nothing can be written there.
  virtual absl::Status Open() = 0;
  virtual absl::Status Append(absl::string_view block) = 0;
  // Begins another segment.
  virtual absl::Status Rotate() = 0;
  // FAILED_PRECONDITION, with the bound that would do: a segment that begins with a checkpoint of
  // so many bytes is soon full again, and the journal would be checkpoints only.
  virtual absl::Status CheckRoomAfter(size_t checkpoint_bytes) const = 0;

  // It is time for another segment.
  virtual bool full() const = 0;
  // Another block would be too much.
  virtual bool overdue() const = 0;
};

}  // namespace muster::journal

#endif  // MUSTER_SERVER_JOURNAL_SEGMENTS_H_
