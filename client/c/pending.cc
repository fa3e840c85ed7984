// muster_start(): runs calls on their own thread, and signals their end through a descriptor.
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "client/c/boundary.h"
#include "client/c/handles.h"
#include "common/process/start_thread.h"
#include "muster/c.h"

namespace muster::internal::c {
namespace {

// The state that the caller and the thread share.
class BackgroundCalls {
 public:
  explicit BackgroundCalls(int descriptor) : descriptor_(descriptor) {}
  ~BackgroundCalls() { close(descriptor_); }
  BackgroundCalls(const BackgroundCalls&) = delete;
  BackgroundCalls& operator=(const BackgroundCalls&) = delete;

  void End(absl::Status result) {
    absl::MutexLock lock(&mutex_);
    result_ = std::move(result);
    done_ = true;
    eventfd_write(descriptor_, 1);
  }

  bool done() const {
    absl::MutexLock lock(&mutex_);
    return done_;
  }

  absl::Status Wait() const {
    if (getpid() != process_) return InFork();
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&done_));
    return result_;
  }

  // Returns whether this process is a fork of the one that started the thread. The thread does not
  // exist here.
  bool in_fork() const { return getpid() != process_; }
  int descriptor() const { return descriptor_; }

 private:
  absl::Status InFork() const {
    return absl::FailedPreconditionError(
        absl::StrCat("muster_pending_wait: process ", getpid(), " is a fork of process ", process_,
                     ", which makes these calls; wait for them there"));
  }

  const int descriptor_;
  const pid_t process_ = getpid();
  mutable absl::Mutex mutex_;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status result_ ABSL_GUARDED_BY(mutex_);
};

absl::Status Taken(muster_status* returned) {
  if (returned == nullptr) return absl::OkStatus();
  absl::Status status = returned->status;
  muster_status_free(returned);
  return status;
}

}  // namespace
}  // namespace muster::internal::c

struct muster_pending {
  std::shared_ptr<muster::internal::c::BackgroundCalls> calls;
};

using namespace muster::internal::c;

extern "C" {

muster_status* muster_start(muster_calls calls, void* context, muster_pending** pending) {
  return RunForC([&]() -> absl::Status {
    absl::Status checked = CheckNotNull(
        "muster_start", {{"calls", reinterpret_cast<const void*>(calls)}, {"pending", pending}});
    if (!checked.ok()) return checked;
    const int descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (descriptor < 0) {
      return absl::ResourceExhaustedError(absl::StrCat("muster_start: no descriptor to be had: ",
                                                       absl::ErrnoToStatus(errno, "").message()));
    }
    auto begun = std::make_unique<muster_pending>();
    begun->calls = std::make_shared<BackgroundCalls>(descriptor);
    const absl::Status started =
        muster::StartDetachedThread("make calls", [shared = begun->calls, calls, context] {
          // Calls End() in every case, because the waiting caller has no timeout.
          absl::Status result;
          try {
            result = Taken(calls(context));
          } catch (...) {
            result = CaughtException();
          }
          shared->End(std::move(result));
        });
    if (!started.ok()) return started;
    *pending = begun.release();
    return absl::OkStatus();
  });
}

int muster_pending_fd(const muster_pending* pending) {
  return pending == nullptr ? -1 : pending->calls->descriptor();
}

int muster_pending_done(const muster_pending* pending) {
  return pending != nullptr && pending->calls->done();
}

muster_status* muster_pending_wait(muster_pending* pending) {
  return RunForC([&] {
    absl::Status checked = CheckNotNull("muster_pending_wait", {{"pending", pending}});
    return checked.ok() ? pending->calls->Wait() : checked;
  });
}

void muster_pending_free(muster_pending* pending) {
  if (pending == nullptr) return;
  // In a fork, no thread ends the calls, so this does not wait for them.
  if (!pending->calls->in_fork()) (void)pending->calls->Wait();
  delete pending;
}

}  // extern "C"
