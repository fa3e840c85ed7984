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

namespace muster {

// Ends waiting calls from another thread. One object may serve many calls, one after another or at
// once; once cancelled it stays so, and calls that are given it end at once. Thread-safe. Must
// outlive the calls it is given to.
class Cancellation {
 public:
  Cancellation() = default;
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  // Ends every call that was given this object with CANCELLED. Does not block.
  void Cancel();

  // Whether Cancel() was called.
  bool cancelled() const;

  // For implementers of waiting calls: `wake` runs at Cancel(), in the cancelling thread, or at
  // once if that has happened. It must not block, and must not call this object. Returns a number
  // for Remove().
  int64_t Add(std::function<void()> wake);

  // After this returns the callback is not running and never will.
  void Remove(int64_t number);

 private:
  mutable absl::Mutex mutex_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<int64_t, std::function<void()>> wakes_ ABSL_GUARDED_BY(mutex_);
};

// Where the program makes a call, for messages of all ranks: "train.cc:42". A parameter of this
// type is left to its default, which is the line of the call.
struct CallSite {
  // The line that calls it.
  static constexpr CallSite Here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return CallSite{file, line};
  }

  // As the compiler was given it; the line counts from 1.
  const char* file = "";
  int line = 0;
};

// Taken by every call that can wait.
struct CallOptions {
  // How long the call may wait before it ends with DEADLINE_EXCEEDED, naming what it waited for.
  // Unset: JobOptions::timeout, but for those who wait for a function that one rank runs for all:
  // they wait for as long as that rank lives. absl::InfiniteDuration() is refused.
  std::optional<absl::Duration> timeout;

  // Ends the call with CANCELLED when cancelled. Not owned.
  Cancellation* cancellation = nullptr;

  // Of Gather and AllGather: all ranks must contribute equally many bytes. Where they do not, all
  // get FAILED_PRECONDITION that names the two sides, as for any other disagreement.
  bool require_equal_sizes = false;

  // Of operations of a Communicator on a GPU: the CUDA stream (a cudaStream_t) with the caller's
  // work on the data, which the operation comes after: see Communicator. Null: the legacy default
  // stream. Elsewhere it is not looked at.
  void* stream = nullptr;
};

}  // namespace muster

#endif  // MUSTER_CALL_OPTIONS_H_
