#include "server/daemon/async_log.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "spdlog/async_logger.h"
#include "spdlog/details/null_mutex.h"
#include "spdlog/details/thread_pool.h"
#include "spdlog/sinks/base_sink.h"

namespace muster::daemon {
namespace {

using spdlog::details::log_msg;
using spdlog::details::thread_pool;

void AwaitWritable(int fd) {
  pollfd room = {fd, POLLOUT, 0};
  poll(&room, 1, /*timeout=*/-1);
}

// Blocks until all of `text` is written. Returns false if that is impossible. The descriptor may be
// non-blocking, if a process that shares it has made it so.
bool Write(int fd, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EAGAIN) {
      AwaitWritable(fd);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace

// The log's sink. It does not use stdio: stdio's locks would make exit() wait for a write that
// hangs, and its streams do not tell which line has failed. Only the log's thread writes, so no
// lock is held during a write.
class AsyncLog::Sink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  Sink(int fd, thread_pool& queue) : fd_(fd), queue_(queue) {}

  uint64_t flushes() const {
    const absl::MutexLock lock(&mutex_);
    return flushes_;
  }

  bool AwaitFlushAfter(uint64_t flushes, absl::Duration limit) const {
    const auto flushed = [&] {
      mutex_.AssertReaderHeld();
      return flushes_ > flushes;
    };
    const absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithTimeout(absl::Condition(&flushed), limit);
  }

 private:
  void sink_it_(const log_msg& message) override {
    ReportMissingLines();
    if (!WriteLine(message)) ++failed_;
  }

  void flush_() override {
    ReportMissingLines();
    const absl::MutexLock lock(&mutex_);
    ++flushes_;
  }

  void ReportMissingLines() {
    const size_t missing = failed_ + queue_.overrun_counter();
    if (missing == reported_) return;
    const std::string text =
        absl::StrCat(missing - reported_,
                     " lines of this log are missing here: they could not be written in time");
    if (WriteLine(log_msg("", spdlog::level::warn, text))) reported_ = missing;
  }

  bool WriteLine(const log_msg& message) {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    return Write(fd_, absl::string_view(line.data(), line.size()));
  }

  const int fd_;
  thread_pool& queue_;
  size_t failed_ = 0;
  size_t reported_ = 0;
  mutable absl::Mutex mutex_;
  uint64_t flushes_ ABSL_GUARDED_BY(mutex_) = 0;
};

AsyncLog::AsyncLog(int fd, size_t max_lines, std::unique_ptr<spdlog::formatter> formatter)
    : thread_(std::make_shared<thread_pool>(max_lines, /*threads_n=*/1)),
      sink_(std::make_shared<Sink>(fd, *thread_)),
      logger_(std::make_shared<spdlog::async_logger>(
          "", sink_, thread_, spdlog::async_overflow_policy::overrun_oldest)) {
  logger_->set_formatter(std::move(formatter));
}

AsyncLog::~AsyncLog() = default;

bool AsyncLog::Flush(absl::Duration limit) {
  const uint64_t before = sink_->flushes();
  logger_->flush();
  return sink_->AwaitFlushAfter(before, limit);
}

}  // namespace muster::daemon
