#ifndef MUSTER_CLIENT_CLI_RUN_ASYNC_WRITER_H_
#define MUSTER_CLIENT_CLI_RUN_ASYNC_WRITER_H_

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace muster::cli {

// Writes to file descriptors on its own thread, in the order of the calls. A reader that is slow,
// or has stopped, must not keep the launcher from seeing signals and the ends of ranks. Waits for a
// descriptor that another program has made non-blocking, such as a shared terminal. If the thread
// could not start, Write() writes and blocks. Call from one thread at a time.
class AsyncWriter {
 public:
  // A sink that could not be written to, because its reader is gone or the disk is full. Later
  // output for it is dropped.
  struct Failure {
    int sink = 0;
    std::string name;
    int error = 0;  // errno
  };

  AsyncWriter();
  // Does not block. Drops what is still pending().
  ~AsyncWriter();
  AsyncWriter(const AsyncWriter&) = delete;
  AsyncWriter& operator=(const AsyncWriter&) = delete;

  // Adds a sink and returns its number. `name` is for messages, such as "standard output" or a
  // path. `fd` must stay open.
  int AddSink(int fd, const std::string& name);

  // Queues bytes. Does not block, unless the thread could not start. The bytes of one call are
  // written before those of any later call.
  void Write(int sink, std::string bytes);

  // Returns the number of bytes not yet written.
  size_t pending() const;

  // Returns the failures since the last call. A failure is available before its bytes leave
  // pending().
  std::vector<Failure> TakeFailures();

  // Becomes readable when pending() falls to kLowWater or to 0, and after a failure.
  int wake_fd() const;
  void ClearWake();
  static constexpr size_t kLowWater = 4 << 20;

 private:
  struct State;
  static void Run(const std::shared_ptr<State>& state);
  // Writes the first item of the queue. Releases the lock while it writes.
  static void WriteNext(State* state, std::unique_lock<std::mutex>* lock);

  // Shared with the thread, which may still be in a write when this object is destroyed.
  std::shared_ptr<State> state_;
  const bool has_thread_;
};

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_RUN_ASYNC_WRITER_H_
