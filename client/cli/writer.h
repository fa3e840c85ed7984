#ifndef MUSTER_CLIENT_CLI_WRITER_H_
#define MUSTER_CLIENT_CLI_WRITER_H_

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace muster::cli {

// Writes to file descriptors on a thread of its own, in the order of the calls: a reader that is
// slow, or has stopped, must not keep the launcher from seeing signals and ranks that end. A
// descriptor that is non-blocking, as a pipe or terminal that another program shares may be, is
// waited for. Where the process gets no thread the calls write, and wait. Its calls may come from
// one thread at a time.
class Writer {
 public:
  // A sink that could not be written to (the reader has gone, the disk is full). What is meant for
  // it is dropped.
  struct Failure {
    int sink = 0;
    std::string name;
    int error = 0;  // errno
  };

  Writer();
  // Does not wait: call it when pending() is 0, or to give up what is left.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // `name` is for messages: "standard output", a path. `fd` must stay open. Returns the sink's
  // number.
  int AddSink(int fd, const std::string& name);

  // Does not block, but for want of a thread. Everything of one call is written before anything of
  // a later one.
  void Write(int sink, std::string bytes);

  // Bytes that are still to be written.
  size_t pending() const;

  // Those since the last call. A failure is there before its bytes leave pending().
  std::vector<Failure> TakeFailures();

  // Becomes readable when pending() falls to kLowWater or to 0, and at a failure.
  int wake_fd() const;
  void ClearWake();
  static constexpr size_t kLowWater = 4 << 20;

 private:
  struct State;
  static void Run(const std::shared_ptr<State>& state);
  // Writes the first item of the queue, without the lock meanwhile.
  static void WriteNext(State* state, std::unique_lock<std::mutex>* lock);

  // Shared with the thread, which may be stuck in a write when this object goes.
  std::shared_ptr<State> state_;
  const bool has_thread_;
};

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_WRITER_H_
