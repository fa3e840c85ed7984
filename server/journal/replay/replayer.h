#ifndef MUSTER_SERVER_JOURNAL_REPLAY_REPLAYER_H_
#define MUSTER_SERVER_JOURNAL_REPLAY_REPLAYER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "server/core/coordinator.h"
#include "server/journal/journal.pb.h"
#include "server/journal/records/synthetic_payloads.h"
#include "server/journal/replay/restored_input.h"

namespace muster::journal {

// A step of a replay: what went into the core, and what came out.
struct ReplayedStep {
  core::Time now;
  InputKind kind = INPUT_KIND_UNSPECIFIED;
  core::WaiterId waiter = 0;
  core::Input input;
  core::Effects effects;
};

// A listener to a replay.
class ReplayObserver {
 public:
  virtual ~ReplayObserver() = default;
  // Called when a daemon starts. Earlier state lives on only in the claims of its members.
  virtual void OnStart(core::Time now, const core::Options& options) = 0;
  // Called when the replay begins in the middle of a job, or continues there after a gap.
  virtual void OnCheckpoint(core::Time now, const core::Options& options,
                            const core::Checkpoint& checkpoint) = 0;
  virtual void OnStep(const ReplayedStep& step) = 0;
  // Called when the recording ends; `end` has the reason.
  virtual void OnEnd(core::Time now, const End& end) = 0;
};

// A replayer of a journal: feeds what was recorded to the core that the daemon had, and decides
// nothing. The same inputs, times and random numbers lead to the same effects.
//
//   Replayer replayer(&observer);
//   while (std::optional<Record> record = reader->Next()) {
//     if (absl::Status s = replayer.Feed(*record); !s.ok()) return s;
//   }
class Replayer {
 public:
  // The largest payload that is replayed; see SyntheticPayloads.
  static constexpr uint64_t kMaxPayloadBytes = uint64_t{1} << 31;

  explicit Replayer(ReplayObserver* observer, uint64_t max_payload_bytes = kMaxPayloadBytes)
      : observer_(observer), synthetic_(max_payload_bytes) {}

  // Returns when the record happened. A record without a time happened when the previous one did.
  core::Time TimeOf(const Record& record) const;

  // Replays the next record. DATA_LOSS: it does not fit the records before it, or is malformed.
  // ABORTED: this program's core does something else than the daemon's core did; up to here both
  // did the same.
  absl::Status Feed(const Record& record);

  // Returns the core as it is now; null before the first start. During a gap of the recording it
  // stays as it was before the gap.
  const core::Coordinator* core() const { return core_.get(); }
  core::Time now() const { return now_; }
  core::Time started() const { return started_; }  // when the daemon started
  uint64_t steps() const { return steps_; }        // of all daemons
  // Returns the number of steps whose answers differ from the daemon's. This is possible only after
  // a checkpoint, which does not contain everything.
  uint64_t diverged_steps() const { return diverged_steps_; }
  // Returns the number of steps that a daemon took while its recording had a gap.
  uint64_t missing_steps() const { return missing_steps_; }

 private:
  absl::Status FeedStart(const Start& start);
  absl::Status FeedCheckpoint(const Checkpoint& checkpoint);
  absl::Status FeedStep(const Step& step);
  void CountMissingSteps(uint64_t instance, uint64_t steps);
  void FeedEnd(const End& end);

  absl::StatusOr<core::Options> ReadOptions(const Options& in);
  absl::Status TrackOpenCall(core::WaiterId waiter, const core::Input& input);
  absl::Status CheckEffects(const Step& step, const core::Effects& effects);

  ReplayObserver* const observer_;
  SyntheticPayloads synthetic_;
  std::unique_ptr<core::Coordinator> core_;
  absl::flat_hash_set<core::WaiterId> open_;  // calls and streams of members that have not ended
  absl::flat_hash_set<core::WaiterId> store_streams_;  // that have not ended
  core::Time now_;
  core::Time started_;
  uint64_t steps_ = 0;
  uint64_t steps_of_daemon_ = 0;
  bool from_checkpoint_ = false;
  bool ended_ = false;  // no recording is under way
  uint64_t diverged_steps_ = 0;
  uint64_t missing_steps_ = 0;

  // The step that is being replayed, and how many of its random numbers the core has drawn.
  const Step* step_ = nullptr;
  int drawn_ = 0;
};

}  // namespace muster::journal

#endif  // MUSTER_SERVER_JOURNAL_REPLAY_REPLAYER_H_
