#ifndef MUSTER_CALL_OPTIONS_H_
#define MUSTER_CALL_OPTIONS_H_

#include "muster/cxx17.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

// How long one call may wait, and how another thread ends it:
//
//   muster::CallOptions options;
//   options.timeout = absl::Minutes(2);
//   options.cancellation = &cancellation;  // another thread calls cancellation.Cancel()
//   absl::Status met = job.Barrier("loaded", options);
namespace muster {

// Ends waiting calls from another thread. One object may serve any number of calls, at the same
// time or in turn. A cancelled object stays cancelled: later calls that use it end at once. It must
// outlive the calls that use it. Thread-safe.
class Cancellation {
 public:
  Cancellation() = default;
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  // Ends every call that uses this object with CANCELLED. Does not block.
  void Cancel();

  // Returns whether Cancel() was called.
  bool cancelled() const;

  // For code that implements a waiting call. Registers `wake`, which Cancel() runs in its own
  // thread; runs it at once if Cancel() was called before. `wake` must not block, and must not call
  // this object. Returns a number for Remove().
  int64_t Add(std::function<void()> wake);

  // Removes a callback. Blocks while it runs; afterwards it never runs again.
  void Remove(int64_t number);

 private:
  mutable absl::Mutex mutex_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<int64_t, std::function<void()>> wakes_ ABSL_GUARDED_BY(mutex_);
};

// The line of the program that makes a call: "train.cc:42". Errors and status pages of all ranks
// show it. Callers leave a parameter of this type to its default.
struct CallSite {
  // Returns the line that calls this function.
  static constexpr CallSite Here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return CallSite{file, line};
  }

  // The path that the compiler was given, and the line, counted from 1.
  const char* file = "";
  int line = 0;
};

// Options of every call that can wait.
struct CallOptions {
  // How long the call may wait. Then it ends with DEADLINE_EXCEEDED, which names what the call
  // waited for. Unset: JobOptions::timeout. Exception: in RunOnRank(), ranks wait for as long as
  // the rank that runs the function lives. INVALID_ARGUMENT: absl::InfiniteDuration().
  std::optional<absl::Duration> timeout;

  // Ends the call with CANCELLED once it is cancelled. Not owned.
  Cancellation* cancellation = nullptr;

  // For Gather and AllGather: requires all ranks to contribute the same number of bytes. If they
  // differ, every rank gets FAILED_PRECONDITION, which names both sides.
  bool require_equal_sizes = false;

  // For a Communicator on GPUs: the CUDA stream (a cudaStream_t) that holds the caller's work on
  // the data. The operation runs after that work; see Communicator. Null: the legacy default
  // stream. Other calls ignore it.
  void* stream = nullptr;
};

}  // namespace muster

#endif  // MUSTER_CALL_OPTIONS_H_
