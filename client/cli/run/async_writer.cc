#include "client/cli/run/async_writer.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "absl/strings/string_view.h"
#include "client/launcher/process/event_fd.h"
#include "common/process/start_thread.h"

namespace muster::cli {
namespace {

struct QueuedWrite {
  int sink;
  std::string bytes;
};

struct Sink {
  int fd;
  std::string name;
  bool broken = false;
};

void AwaitWritable(int fd) {
  pollfd writable = {fd, POLLOUT, 0};
  poll(&writable, 1, -1);
}

// Returns 0, or the errno of the write that failed.
int WriteAll(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = write(fd, bytes.data(), bytes.size());
    if (size >= 0) {
      bytes.remove_prefix(size);
    } else if (errno == EAGAIN) {
      AwaitWritable(fd);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace

struct AsyncWriter::State {
  launcher::EventFd wake;
  std::mutex mutex;
  std::condition_variable changed;
  // Guarded by mutex. After a sink is added, only the thread uses its contents.
  std::deque<Sink> sinks;
  std::deque<QueuedWrite> queue;
  std::vector<Failure> failures;
  size_t pending = 0;
  bool stopped = false;
};

AsyncWriter::AsyncWriter()
    : state_(std::make_shared<State>()),
      has_thread_(StartDetachedThread("write output", [state = state_] { Run(state); }).ok()) {}

AsyncWriter::~AsyncWriter() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->stopped = true;
  state_->changed.notify_one();
}

int AsyncWriter::AddSink(int fd, const std::string& name) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->sinks.push_back({fd, name});
  return static_cast<int>(state_->sinks.size()) - 1;
}

void AsyncWriter::Write(int sink, std::string bytes) {
  if (bytes.empty()) return;
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->pending += bytes.size();
  state_->queue.push_back({sink, std::move(bytes)});
  state_->changed.notify_one();
  if (!has_thread_) WriteNext(state_.get(), &lock);
}

size_t AsyncWriter::pending() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->pending;
}

std::vector<AsyncWriter::Failure> AsyncWriter::TakeFailures() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return std::exchange(state_->failures, {});
}

int AsyncWriter::wake_fd() const { return state_->wake.fd(); }

void AsyncWriter::ClearWake() { state_->wake.Clear(); }

void AsyncWriter::Run(const std::shared_ptr<State>& state) {
  std::unique_lock<std::mutex> lock(state->mutex);
  while (true) {
    state->changed.wait(lock, [&] { return state->stopped || !state->queue.empty(); });
    if (state->stopped) return;
    WriteNext(state.get(), &lock);
  }
}

void AsyncWriter::WriteNext(State* state, std::unique_lock<std::mutex>* lock) {
  const QueuedWrite item = std::move(state->queue.front());
  state->queue.pop_front();
  Sink& sink = state->sinks[item.sink];  // a deque keeps its elements in place
  lock->unlock();
  const int error = sink.broken ? 0 : WriteAll(sink.fd, item.bytes);
  lock->lock();
  if (error != 0) {
    sink.broken = true;
    state->failures.push_back({item.sink, sink.name, error});
  }
  const size_t before = state->pending;
  state->pending -= item.bytes.size();
  const bool fell_low = before > kLowWater && state->pending <= kLowWater;
  if (fell_low || state->pending == 0 || error != 0) state->wake.Set();
}

}  // namespace muster::cli
