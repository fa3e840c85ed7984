#include "client/src/control_plane/log_writer.h"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/base/steady_clock.h"
#include "common/process/start_thread.h"
#include "muster/log.h"

namespace muster::internal {

class LogWriter::Queue {
 public:
  explicit Queue(const Limits& limits) : limits_(limits) {}

  void Add(WriteLog line) {
    std::lock_guard<std::mutex> lock(mutex_);
    lines_.push_back(std::move(line));
    ++added_;
    if (lines_.size() > limits_.lines) {
      lines_.pop_front();
      ++dropped_;
    }
    changed_.notify_all();
  }

  // Returns whether the queue is empty and no line is being written.
  bool AwaitWritten() {
    std::unique_lock<std::mutex> lock(mutex_);
    const SteadyTime since = std::min(SteadyClock::now(), writing_since_);
    changed_.wait_until(lock, After(since, limits_.patience),
                        [this, last = added_] { return IsWritten(last); });
    return IsWritten(added_);
  }

  // Writes lines until Finish(), and then the rest.
  void Write() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return finishing_ || !lines_.empty(); });
      if (lines_.empty()) return;
      WriteNext(&lock);
    }
  }

  void Finish() {
    std::lock_guard<std::mutex> lock(mutex_);
    finishing_ = true;
    changed_.notify_all();
  }

 private:
  // Returns whether the first `count` lines that were added are written or dropped.
  bool IsWritten(uint64_t count) const {
    return added_ - lines_.size() >= count && (writing_ == 0 || writing_ > count);
  }

  void WriteNext(std::unique_lock<std::mutex>* lock) {
    writing_ = added_ - lines_.size() + 1;
    writing_since_ = SteadyClock::now();
    const WriteLog next = std::move(lines_.front());
    lines_.pop_front();
    const uint64_t dropped = std::exchange(dropped_, 0);
    lock->unlock();
    if (dropped > 0) {
      Log(LogLevel::kWarning,
          absl::StrCat("lines of this log that are missing here, because the log was blocked: ",
                       dropped));
    }
    Log(next.level, next.line);
    lock->lock();
    writing_ = 0;
    writing_since_ = SteadyTime::max();
    changed_.notify_all();
  }

  const Limits limits_;
  std::mutex mutex_;  // guards all fields below
  std::condition_variable changed_;
  std::deque<WriteLog> lines_;  // the latest of the lines that were added
  uint64_t added_ = 0;
  uint64_t dropped_ = 0;  // not yet reported
  uint64_t writing_ = 0;  // the number of the line that is being written, from 1; 0 if none
  SteadyTime writing_since_ = SteadyTime::max();
  bool finishing_ = false;
};

absl::StatusOr<std::unique_ptr<LogWriter>> LogWriter::Start(const Limits& limits) {
  auto queue = std::make_shared<Queue>(limits);
  absl::StatusOr<std::thread> thread = StartThread("write the log", [queue] { queue->Write(); });
  if (!thread.ok()) return thread.status();
  return std::unique_ptr<LogWriter>(new LogWriter(std::move(queue), *std::move(thread)));
}

LogWriter::LogWriter(std::shared_ptr<Queue> queue, std::thread thread)
    : queue_(std::move(queue)), thread_(std::move(thread)) {}

LogWriter::~LogWriter() {
  const bool written = queue_->AwaitWritten();
  queue_->Finish();
  written ? thread_.join() : thread_.detach();
}

void LogWriter::Add(WriteLog line) { queue_->Add(std::move(line)); }

void LogWriter::AwaitWritten() { queue_->AwaitWritten(); }

}  // namespace muster::internal
