#ifndef MUSTER_SERVER_JOURNAL_RECORDER_H_
#define MUSTER_SERVER_JOURNAL_RECORDER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "server/core/checkpoint.h"
#include "server/core/effects.h"
#include "server/core/options.h"
#include "server/journal/encoder.h"
#include "server/journal/kept_request.h"
#include "server/journal/segments.h"
#include "spdlog/logger.h"

namespace muster::journal {

struct RecorderOptions {
  std::string path;
  uint64_t max_bytes = 256 << 20;  // of all segments together
  // How long the end waits for the disk.
  absl::Duration last_words = absl::Seconds(1);
};

// Writes the journal of one daemon. Nobody who records waits for the disk: records go into memory,
// a few MB at most, and a thread of the recorder's own takes them from there to the file, at least
// twice a second. What goes wrong there (no room, no permission) ends the recording, with a line in
// the log, and nothing else. A disk that hangs interrupts it: what comes until the disk answers is
// left out.
//
// The calls that take the time must come in its order, one at a time: under the lock of the core's
// steps.
class Recorder {
 public:
  // `core` is what the core is made with. The files are opened later, by the thread: `logger` hears
  // of what is wrong with them.
  Recorder(RecorderOptions options, const core::Options& core, core::Time now,
           std::shared_ptr<spdlog::logger> logger);
  // The same with files of another kind, wherever they are, which the thread destroys when it ends.
  Recorder(std::unique_ptr<Segments> files, const RecorderOptions& options,
           const core::Options& core, core::Time now, std::shared_ptr<spdlog::logger> logger);
  // Waits until all is written, for so long as the options say; the log says if it is not.
  ~Recorder();

  // Returns what is to be said of it in the log, if anything.
  std::string Add(const StepInput& step, core::Time now, absl::Span<const uint64_t> draws,
                  const core::Effects& effects);

  // The segment is full, or something is missing and the disk answers: as soon as the core can make
  // one, a checkpoint is wanted, with which another segment begins. The thread encodes it.
  bool wants_checkpoint() const;
  void Add(core::Checkpoint checkpoint, const core::Options& core, core::Time now);

  // For Keep(). Thread-safe.
  const Fingerprints& fingerprints() const { return *fingerprints_; }

 private:
  class Queue;
  struct Chunk;
  class Writer;

  const std::shared_ptr<const Fingerprints> fingerprints_;
  const std::shared_ptr<spdlog::logger> logger_;
  const absl::Duration last_words_;
  Encoder encoder_;
  std::string encoded_;   // of the record under way; its memory is used again
  uint64_t steps_ = 0;    // since the start
  uint64_t missing_ = 0;  // of them, since something was recorded last
  // Shared with the thread, which may hang in a write when this object goes.
  const std::shared_ptr<Queue> queue_;
};

}  // namespace muster::journal

#endif  // MUSTER_SERVER_JOURNAL_RECORDER_H_
