#ifndef MUSTER_SERVER_JOURNAL_REPLAYER_H_
#define MUSTER_SERVER_JOURNAL_REPLAYER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "server/core/coordinator.h"
#include "server/journal/journal.pb.h"
#include "server/journal/restored_input.h"
#include "server/journal/stand_ins.h"

namespace muster::journal {

// What went into the core, and what came out.
struct ReplayedStep {
  core::Time now;
  InputKind kind = INPUT_KIND_UNSPECIFIED;
  core::WaiterId waiter = 0;
  core::Input input;
  core::Effects effects;
};

// Looks on while a journal is replayed.
class Observer {
 public:
  virtual ~Observer() = default;
  // A daemon has started, and nothing that was before holds any more but in its members' claims.
  virtual void OnStart(core::Time now, const core::Options& options) = 0;
  // Here the replay begins, or goes on after a gap, in the middle of a job.
  virtual void OnCheckpoint(core::Time now, const core::Options& options,
                            const core::Checkpoint& checkpoint) = 0;
  virtual void OnStep(const ReplayedStep& step) = 0;
  // The recording has ended, for that reason.
  virtual void OnEnd(core::Time now, const End& end) = 0;
};

// Feeds what a journal has recorded to the core that the daemon had, and decides nothing.
class Replayer {
 public:
  // No payload is larger, see StandIns.
  static constexpr uint64_t kMaxPayloadBytes = uint64_t{1} << 31;

  explicit Replayer(Observer* observer, uint64_t max_payload_bytes = kMaxPayloadBytes)
      : observer_(observer), stand_ins_(max_payload_bytes) {}

  // When that happened. Records without a time happened when the one before did.
  core::Time TimeOf(const Record& record) const;

  // The records must come in order. DATA_LOSS: it does not fit to those before it. ABORTED: the
  // core of this program does not do what the daemon's did; what came before was alike.
  absl::Status Feed(const Record& record);

  // The core as it is now; null before the first start. While a recording has a gap it stays as it
  // was before that.
  const core::Coordinator* core() const { return core_.get(); }
  core::Time now() const { return now_; }
  core::Time started() const { return started_; }  // the daemon
  uint64_t steps() const { return steps_; }        // of all daemons
  // Steps that were answered otherwise than they had been. It begins with a checkpoint then, which
  // does not hold everything.
  uint64_t inexact_steps() const { return inexact_steps_; }
  // Steps that a daemon took while it recorded nothing, before it went on with a checkpoint.
  uint64_t left_out_steps() const { return left_out_steps_; }

 private:
  absl::Status FeedStart(const Start& start);
  absl::Status FeedCheckpoint(const Checkpoint& checkpoint);
  absl::Status FeedStep(const Step& step);
  void NoteLeftOut(uint64_t instance, uint64_t steps);
  void FeedEnd(const End& end);

  absl::StatusOr<core::Options> ReadOptions(const Options& in);
  absl::Status NoteOpen(core::WaiterId waiter, const core::Input& input);
  absl::Status CheckEffects(const Step& step, const core::Effects& effects);

  Observer* const observer_;
  StandIns stand_ins_;
  std::unique_ptr<core::Coordinator> core_;
  absl::flat_hash_set<core::WaiterId> open_;  // calls and streams that have not ended
  core::Time now_;
  core::Time started_;
  uint64_t steps_ = 0;
  uint64_t steps_of_daemon_ = 0;
  bool from_checkpoint_ = false;
  bool ended_ = false;  // nothing is recorded at present
  uint64_t inexact_steps_ = 0;
  uint64_t left_out_steps_ = 0;

  // What the step that is fed drew.
  const Step* step_ = nullptr;
  int drawn_ = 0;
};

}  // namespace muster::journal

#endif  // MUSTER_SERVER_JOURNAL_REPLAYER_H_
