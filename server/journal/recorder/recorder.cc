#include "server/journal/recorder/recorder.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/journal/recorder/file_segment_writer.h"
#include "server/journal/records/checkpoint_conversion.h"

namespace muster::journal {
namespace {

// The most bytes that wait for the disk: seconds of a large job's arrivals.
constexpr size_t kMaxQueuedBytes = 16 << 20;
// The thread is woken when this many bytes wait. Small journals have small segments, which fill up
// soon, so their thread is woken for less. Without a wake-up it looks every kWriteInterval.
constexpr uint64_t kWakeBytes = 1 << 20;
constexpr uint64_t kMinWakesPerBound = 64;
constexpr auto kWriteInterval = std::chrono::milliseconds(500);

}  // namespace

// Records that are written together. If a checkpoint is present, a new segment begins with it.
struct Recorder::Chunk {
  struct State {
    Record record;  // without the state
    core::Checkpoint checkpoint;
  };
  std::optional<State> begins_with;
  std::string records;
};

// The queue between the core's steps and the thread that writes. Thread-safe.
class Recorder::Queue {
 public:
  explicit Queue(uint64_t max_bytes)
      : wake_bytes_(std::min(kWakeBytes, max_bytes / kMinWakesPerBound)) {}

  // Queues records. Returns false if there is no room, or if the recording has a gap or has ended.
  bool Push(absl::string_view records) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!accepts_records()) return false;
    if (bytes_ + records.size() > kMaxQueuedBytes) {
      StopAt("the disk is too slow for it", Phase::kBlocked);
      return false;
    }
    Append(records);
    if (bytes_ >= wake_bytes_ && bytes_ - records.size() < wake_bytes_) wakes_.notify_one();
    return true;
  }

  // Queues a checkpoint. Returns false if none is wanted. At most one is queued at a time, so it
  // does not count towards the bound.
  bool PushCheckpoint(Chunk::State begin) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!wants_checkpoint()) return false;
    chunks_.push_back({std::move(begin), ""});
    phase_ = Phase::kRecording;
    return true;
  }
  bool wants_checkpoint() const {
    const Phase phase = phase_.load(std::memory_order_relaxed);
    return phase == Phase::kSegmentFull || phase == Phase::kGap;
  }

  // Returns the reason for which recording has stopped, once after each stop, and "" otherwise.
  std::string TakeStopReason() {
    std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(stop_reason_, "");
  }

  // For the writing thread; calling it means that the chunks taken before are on disk. Blocks until
  // there is enough to write or some time has passed. Returns false when there is nothing left
  // after Close().
  bool Take(std::deque<Chunk>* out) {
    std::unique_lock<std::mutex> lock(mutex_);
    taken_bytes_ = 0;
    if (phase_ == Phase::kBlocked && chunks_.empty()) phase_ = Phase::kGap;
    wakes_.wait_for(lock, kWriteInterval,
                    [this] { return phase_ == Phase::kClosing || bytes_ >= wake_bytes_; });
    out->clear();
    out->swap(chunks_);
    taken_bytes_ = std::exchange(bytes_, 0);
    return phase_ != Phase::kClosing || !out->empty();
  }

  // For the writing thread: the segment is full.
  void OnFull() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (phase_ == Phase::kRecording && !has_segment()) phase_ = Phase::kSegmentFull;
  }
  // For the writing thread: the segment is far beyond its size. Nothing is recorded until a new one
  // begins.
  void OnOverdue() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!accepts_records() || has_segment()) return;
    StopAt("the journal has reached its bound (--journal-max-bytes)", Phase::kGap);
  }
  // For the writing thread: it ends.
  void OnEnded() {
    std::lock_guard<std::mutex> lock(mutex_);
    phase_ = Phase::kEnded;
    chunks_.clear();
    bytes_ = 0;
    ended_.notify_one();
  }

  // Queues the last records and blocks until everything is written, for at most `timeout`. Returns
  // the number of bytes that are not written. Returns 0 if the thread had ended before; it has then
  // logged why.
  size_t Close(const std::string& records, absl::Duration timeout) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (phase_ == Phase::kEnded) return 0;
    Append(records);
    phase_ = Phase::kClosing;
    wakes_.notify_one();
    const bool ended = ended_.wait_for(lock, absl::ToChronoMilliseconds(timeout),
                                       [this] { return phase_ == Phase::kEnded; });
    return ended ? 0 : taken_bytes_ + bytes_;
  }

 private:
  enum class Phase {
    kRecording,    // records are accepted
    kSegmentFull,  // same, and a checkpoint is wanted for a new segment
    kBlocked,      // records are dropped until the queue is on disk
    kGap,          // records are dropped until a checkpoint comes; one is wanted
    kClosing,      // the last records are queued
    kEnded,        // the thread has ended: all is written, or a write has failed
  };

  bool accepts_records() const {
    return phase_ == Phase::kRecording || phase_ == Phase::kSegmentFull;
  }
  // Returns whether a new segment is queued.
  bool has_segment() const {
    return std::any_of(chunks_.begin(), chunks_.end(),
                       [](const Chunk& chunk) { return chunk.begins_with.has_value(); });
  }

  void Append(absl::string_view records) {
    if (chunks_.empty()) chunks_.emplace_back();
    chunks_.back().records.append(records.data(), records.size());
    bytes_ += records.size();
  }

  void StopAt(absl::string_view why, Phase phase) {
    std::string end;
    Encoder::AppendEnd(why, 0, &end);
    Append(end);
    const absl::string_view then = phase == Phase::kBlocked
                                       ? "once the disk has caught up, recording goes on"
                                       : "recording goes on";
    stop_reason_ = absl::StrCat(why, "; ", then, " at the next moment without a waiting call");
    phase_ = phase;
  }

  const uint64_t wake_bytes_;
  std::mutex mutex_;
  std::condition_variable wakes_;
  std::condition_variable ended_;
  std::atomic<Phase> phase_{Phase::kRecording};  // changes under the lock
  std::deque<Chunk> chunks_;
  size_t bytes_ = 0;        // of the queued records
  size_t taken_bytes_ = 0;  // of the records that the thread is writing
  std::string stop_reason_;
};

// The loop of the thread that writes.
class Recorder::Writer {
 public:
  Writer(std::unique_ptr<SegmentWriter> files, std::shared_ptr<const PayloadHasher> hasher,
         std::shared_ptr<Queue> queue)
      : segments_(std::move(files)),
        hasher_(std::move(hasher)),
        values_(*hasher_),
        queue_(std::move(queue)) {}

  // Runs until the last record is written, or a write fails.
  absl::Status Run() {
    if (absl::Status s = segments_->Open(); !s.ok()) return s;
    for (std::deque<Chunk> chunks; queue_->Take(&chunks);) {
      for (Chunk& chunk : chunks) {
        if (absl::Status s = Write(&chunk); !s.ok()) return s;
      }
      if (segments_->overdue()) {
        queue_->OnOverdue();
      } else if (segments_->full()) {
        queue_->OnFull();
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Write(Chunk* chunk) {
    if (chunk->begins_with) {
      if (absl::Status s = BeginSegment(&*chunk->begins_with); !s.ok()) return s;
      chunk->begins_with.reset();  // frees its values, which may be large
    }
    return chunk->records.empty() ? absl::OkStatus() : segments_->Append(chunk->records);
  }

  absl::Status BeginSegment(Chunk::State* begin) {
    Checkpoint& checkpoint = *begin->record.mutable_checkpoint();
    *checkpoint.mutable_state() = ToProto(begin->checkpoint, &values_);
    std::string bytes;
    Encoder::Append(std::move(begin->record), &bytes);
    if (absl::Status s = segments_->CheckRoomAfter(bytes.size()); !s.ok()) return EndJournal(s);
    if (absl::Status s = segments_->Rotate(); !s.ok()) return s;
    return segments_->Append(bytes);
  }

  // Ends the journal with this reason, which a replay then shows too.
  absl::Status EndJournal(const absl::Status& why) {
    std::string end;
    Encoder::AppendEnd(why.message(), 0, &end);
    const absl::Status written = segments_->Append(end);
    return written.ok() ? why : written;
  }

  const std::unique_ptr<SegmentWriter> segments_;
  const std::shared_ptr<const PayloadHasher> hasher_;
  CachedValueHasher values_;
  const std::shared_ptr<Queue> queue_;
};

Recorder::Recorder(RecorderOptions options, const core::Options& core, core::Time now,
                   std::shared_ptr<spdlog::logger> logger)
    : Recorder(
          std::make_unique<FileSegmentWriter>(options.path, options.max_bytes, core.daemon_version),
          options, core, now, std::move(logger)) {}

Recorder::Recorder(std::unique_ptr<SegmentWriter> files, const RecorderOptions& options,
                   const core::Options& core, core::Time now,
                   std::shared_ptr<spdlog::logger> logger)
    : hasher_(std::make_shared<const PayloadHasher>()),
      logger_(std::move(logger)),
      flush_limit_(options.flush_limit),
      queue_(std::make_shared<Queue>(options.max_bytes)) {
  encoder_.AppendStart(core, now, &encoded_);
  queue_->Push(encoded_);
  auto writer = std::make_unique<Writer>(std::move(files), hasher_, queue_);
  std::thread([writer = std::move(writer), queue = queue_, logger = logger_]() mutable {
    const absl::Status status = writer->Run();
    writer.reset();
    if (!status.ok()) {
      logger->error("the journal ends here, and the job goes on without it: {}",
                    std::string(status.message()));
    }
    queue->OnEnded();
  }).detach();
}

Recorder::~Recorder() {
  encoded_.clear();
  Encoder::AppendEnd("the daemon has stopped", missing_, &encoded_);
  const size_t unwritten = queue_->Close(encoded_, flush_limit_);
  if (unwritten == 0) return;
  logger_->error(
      "the last {} bytes of the journal are lost: the disk has not taken them within {} s",
      unwritten, absl::ToDoubleSeconds(flush_limit_));
}

std::string Recorder::Add(const StepInput& step, core::Time now, absl::Span<const uint64_t> draws,
                          const core::Effects& effects) {
  ++steps_;
  encoded_.clear();
  encoder_.AppendStep(step, now, draws, effects, &encoded_);
  if (queue_->Push(encoded_)) return "";
  ++missing_;
  return queue_->TakeStopReason();
}

bool Recorder::wants_checkpoint() const { return queue_->wants_checkpoint(); }

void Recorder::Add(core::Checkpoint checkpoint, const core::Options& core, core::Time now) {
  // A copy, because the steps that follow are timed from the checkpoint only if it is queued.
  Encoder encoder = encoder_;
  Record record = encoder.BeginCheckpoint(core, now, steps_);
  if (!queue_->PushCheckpoint({std::move(record), std::move(checkpoint)})) return;
  encoder_ = encoder;
  missing_ = 0;
}

}  // namespace muster::journal
