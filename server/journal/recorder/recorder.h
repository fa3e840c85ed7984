#ifndef MUSTER_SERVER_JOURNAL_RECORDER_RECORDER_H_
#define MUSTER_SERVER_JOURNAL_RECORDER_RECORDER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "server/core/api/checkpoint.h"
#include "server/core/api/effects.h"
#include "server/core/api/options.h"
#include "server/journal/recorder/segment_writer.h"
#include "server/journal/records/encoder.h"
#include "server/journal/records/kept_request.h"
#include "spdlog/logger.h"

namespace muster::journal {

struct RecorderOptions {
  std::string path;
  uint64_t max_bytes = 256 << 20;  // of all segments together
  // The longest time that the destructor waits for the disk.
  absl::Duration flush_limit = absl::Seconds(1);
};

// The recorder of one daemon's journal. Callers never wait for the disk: records go to a queue in
// memory, 16 MiB at most, and the recorder's thread writes them at least twice a second. If a write
// fails (no room, no permission), the recording ends with a line in the log, and the job goes on.
// If the disk hangs, the recording has a gap:
//   The queue is full. The recorder adds an End, and leaves out all further steps.
//   The disk answers. Once the queue is empty, a checkpoint is wanted, and recording resumes with
//   it.
//
// Call the functions that take the time one at a time and in the order of the core's steps, that
// is, under the lock of those steps.
class Recorder {
 public:
  // Starts recording a core that is made with the options `core`. The recorder's thread opens the
  // files later, and logs what is wrong with them to `logger`.
  Recorder(RecorderOptions options, const core::Options& core, core::Time now,
           std::shared_ptr<spdlog::logger> logger);
  // Same, with another kind of files. The thread destroys `files` when it ends.
  Recorder(std::unique_ptr<SegmentWriter> files, const RecorderOptions& options,
           const core::Options& core, core::Time now, std::shared_ptr<spdlog::logger> logger);
  // Blocks until everything is written, for at most RecorderOptions::flush_limit. Logs what is not
  // written then.
  ~Recorder();

  // Records a step. Returns a text for the log if recording has stopped, and "" otherwise.
  std::string Add(const StepInput& step, core::Time now, absl::Span<const uint64_t> draws,
                  const core::Effects& effects);

  // Returns whether a checkpoint is wanted, because the segment is full, or because steps are
  // missing and the disk answers again. Add one as soon as the core can make one. A new segment
  // begins with it. The recorder's thread encodes it.
  bool wants_checkpoint() const;
  void Add(core::Checkpoint checkpoint, const core::Options& core, core::Time now);

  // Returns the fingerprint function for Keep(). Thread-safe.
  const PayloadHasher& hasher() const { return *hasher_; }

 private:
  class Queue;
  struct Chunk;
  class Writer;

  const std::shared_ptr<const PayloadHasher> hasher_;
  const std::shared_ptr<spdlog::logger> logger_;
  const absl::Duration flush_limit_;
  Encoder encoder_;
  std::string encoded_;   // the current record; its memory is reused
  uint64_t steps_ = 0;    // since the start
  uint64_t missing_ = 0;  // steps that were left out since the last record
  // Shared with the thread, which may still hang in a write when this object is destroyed.
  const std::shared_ptr<Queue> queue_;
};

}  // namespace muster::journal

#endif  // MUSTER_SERVER_JOURNAL_RECORDER_RECORDER_H_
