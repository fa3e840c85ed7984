#ifndef MUSTER_CLIENT_NCCL_HANDLE_H_
#define MUSTER_CLIENT_NCCL_HANDLE_H_

#include <nccl.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/nccl/cuda_device.h"
#include "client/nccl/family.h"
#include "client/nccl/stop_board.h"
#include "client/src/base/deadline.h"
#include "muster/call_options.h"
#include "muster/group.h"

namespace muster::internal {

// Returns what `calls` returns; INTERNAL, naming `function`, if it throws.
absl::Status CallGuarded(absl::string_view function, absl::FunctionRef<absl::Status()> calls);

// One ncclComm_t and its end. NCCL's communicators are not thread-safe, and a non-blocking one
// takes no second call before the first is complete, so:
//
//   - One thread at a time has the communicator: it makes its call and polls until NCCL is through.
//     Others wait for it, as long as their time-outs say. NCCL's own functions do not block then.
//   - Fail() makes the end known at once: the thread that has the communicator gives it back, and
//     the Stopper takes it for good. From then on no other thread calls NCCL with it.
//   - mutex_ is held for ncclCommGetAsyncError only. NCCL's other calls may wait for the device
//     (ncclCommSplit allocates pinned memory; a launch waits for room in its queue), so they run
//     without it: health() and Fail() never wait for them.
//   - ncclSuccess does not mean that a call is complete (ncclCommSplit returns it while a thread of
//     NCCL is at work), so the asynchronous state is asked for after every call.
//
// Thread-safe. Lives on as long as the Stopper works on it.
class NcclHandle {
 public:
  // A call that NCCL does, or begins.
  using Call = absl::FunctionRef<ncclResult_t(ncclComm_t comm)>;

  // Joins the live communicators of the process. `split_share`: as in its ncclConfig_t. `board`:
  // null if this rank has none. Close() it.
  static std::shared_ptr<NcclHandle> Open(const Group& group, const Device& device,
                                          absl::Duration timeout,
                                          int split_share = NCCL_CONFIG_UNDEF_INT,
                                          std::unique_ptr<StopBoard> board = nullptr);

  // The same for a communicator that NCCL is to split from this one, which is initialized. It
  // belongs to this one's family if NCCL makes them share an abort flag.
  std::shared_ptr<NcclHandle> OpenChild(const Group& group, std::unique_ptr<StopBoard> board) const;

  const Group& group() const { return group_; }
  const Device& device() const { return device_; }
  absl::Duration timeout() const { return timeout_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  // The incarnations of its ranks, by which they are found in later epochs of the job too.
  const std::vector<std::string>& incarnations() const { return incarnations_; }
  ncclComm_t comm() const;
  // May be null.
  StopBoard* board() const { return board_.get(); }

  // "AllReduce on rank 1 (node 'a', pid 7) with GPU 0 (...)".
  std::string Title(absl::string_view what) const;

  // ---- Calls ----

  // Calls `begin`, which makes NCCL create the communicator in *comm, and polls until it is ready.
  // An error does not end this object: the caller tells the peers first.
  absl::Status Initialize(absl::string_view what, const Deadline& deadline,
                          absl::FunctionRef<ncclResult_t(ncclComm_t* comm)> begin);

  // Makes one call and polls until NCCL is through with it, or with what it began.
  // DEADLINE_EXCEEDED and CANCELLED say so with the title of `what`. An error does not end this
  // object.
  absl::Status Run(absl::string_view what, const Deadline& deadline, Call call);

  // Run() within timeout(), for calls whose failure ends the communicator. Within Grouped() of this
  // thread it only makes the call.
  absl::Status Operate(absl::string_view what, Call call);
  // The same within `deadline`.
  absl::Status Operate(absl::string_view what, const Deadline& deadline, Call call);

  // In place of timeout(), for Operate() and Grouped().
  void LimitOperations(const std::optional<Deadline>& deadline);

  // What Operate() calls in `calls` is one NCCL group.
  absl::Status Grouped(absl::FunctionRef<absl::Status()> calls);

  // OK, the end, an error that names a peer that has stopped NCCL, or the asynchronous error that
  // NCCL reports. An operation has succeeded if Poll() returns OK after its stream was found idle.
  // Does not wait for other threads' calls.
  absl::Status Poll(absl::string_view what);

  // ---- The end ----

  // OK, or why this communicator has ended, or cannot be used in this process.
  absl::Status health() const;

  // Ends it and its family; the Stopper stops them. Only the first call counts. Does not block.
  void Fail(const absl::Status& why);

  // Waits until NCCL has stopped it: nothing of it runs on the device, and its buffers are free.
  // False at the deadline.
  bool AwaitStopped(SteadyTime deadline) const;

  // Whether NCCL does nothing more for this communicator: it is freed, or stopped. False in a fork.
  bool IsQuiet() const;

  // Fail(), and waits until it is stopped, or for kStopWait. Returns health(), and says so where
  // NCCL has not stopped. If a member is lost and `why` MayBeLostPeer(), the job's error is
  // returned instead.
  absl::Status End(const absl::Status& why);

  // Frees it: a healthy one after its work is done, within `deadline`; otherwise as soon as it is
  // stopped. In a fork of the process that opened it nothing is done.
  void Close(const Deadline& deadline);

  // Takes a communicator that a failed call has left behind, so that it is freed with this object,
  // which ends. Blocks for the Stopper, up to `deadline`; false: then it is not taken.
  bool TakeOver(ncclComm_t comm, const absl::Status& why, SteadyTime deadline);

  // Ends it and frees it as soon as it is stopped; what is not by `deadline` the Stopper frees
  // later.
  void Discard(const absl::Status& why, SteadyTime deadline);

  // How long callers wait for NCCL to stop before they say that it does not.
  static constexpr absl::Duration kStopWait = absl::Seconds(10);

  // ---- For the Stopper ----

  // Tells the ranks that share this one's board, and those of its family's boards, that NCCL is
  // going to be stopped here. Call it before each call that sets NCCL's abort flag.
  void AnnounceStop();
  // Waits for a moment if the job has ended and the communicator spans nodes, so that ranks of
  // other nodes, which cannot see the board, hear of the end before NCCL stops here.
  void AwaitNewsElsewhere() const;

  // Whether it has ended, or its job has, and nobody has begun to stop it.
  bool IsCondemned();
  // Takes the communicator from its callers for good; false while a call is in progress.
  bool Seize();
  // Whether ncclCommRevoke may be called: it is initialized, is not being finalized, and has an
  // abort flag of its own. (At its end ncclCommRevoke clears the flag, which others may yet need.)
  bool CanRevoke() const;
  // Takes the ncclComm_t, which nobody uses or frees from then on but the caller. May be null.
  ncclComm_t Take();
  // It is stopped; `freed`: and NCCL has freed it.
  void MarkStopped(bool freed);
  // Frees it if it is stopped and its owner has gone.
  void FreeIfAbandoned();

  // ---- For the family ----

  // Wakes the threads that wait on this object, since the family has ended.
  void NoticeEnd();
  // AnnounceStop() of this object alone.
  void AnnounceOwnStop();

 private:
  enum class Stage {
    kOpen,     // healthy, or not yet seized
    kSeized,   // the Stopper works on it
    kStopped,  // quiescent, not freed
    kFreed,
  };

  NcclHandle(const Group& group, const Device& device, absl::Duration timeout, int split_share,
             std::shared_ptr<NcclFamily> family, std::unique_ptr<StopBoard> board);
  static std::shared_ptr<NcclHandle> Join(std::shared_ptr<NcclHandle> handle);

  absl::Status CheckProcess() const;
  // Waits until no other thread has the communicator, and has it; health() if that comes first.
  absl::Status Enter(absl::string_view what, const Deadline& deadline);
  void Leave();
  Deadline OperationDeadline() const;
  bool InGroup() const;
  // Makes a call on the communicator, which this thread has, without the lock.
  ncclResult_t CallUnlocked(Call call);
  // `result` if it is an error; else polls until NCCL is through, or the communicator has ended.
  absl::Status Complete(absl::string_view what, const Deadline& deadline, ncclResult_t result);
  absl::Status Finalize(const Deadline& deadline);
  void Free(SteadyTime deadline);
  void Destroy();
  ncclResult_t AsyncResult() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Lets go of what NCCL keeps for the call that is complete.
  void ForgetCall() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status EndOfThis() const { return family_->EndOf(this); }
  // OK, or DEADLINE_EXCEEDED (its time was up) or UNAVAILABLE, naming the peer that has stopped
  // NCCL.
  absl::Status CheckPeers(absl::string_view what) const;
  // Whether a lost member of the job may be behind an error.
  bool MayHaveLostPeer(const absl::Status& why) const;
  // `first`: as in NcclFamily::End().
  bool MarkFailed(const NcclHandle* first, const absl::Status& why);

  const Group group_;
  const Device device_;
  const absl::Duration timeout_;
  const int rank_;
  const int size_;
  const std::string self_;  // for messages
  const std::vector<std::string> incarnations_;
  const int split_share_;
  const std::shared_ptr<NcclFamily> family_;
  const std::unique_ptr<StopBoard> board_;
  const pid_t process_ = getpid();

  mutable absl::Mutex mutex_;
  ncclComm_t comm_ ABSL_GUARDED_BY(mutex_) = nullptr;
  Stage stage_ ABSL_GUARDED_BY(mutex_) = Stage::kOpen;
  bool ready_ ABSL_GUARDED_BY(mutex_) = false;
  bool shares_with_children_ ABSL_GUARDED_BY(mutex_) = false;
  bool finalizing_ ABSL_GUARDED_BY(mutex_) = false;
  bool abandoned_ ABSL_GUARDED_BY(mutex_) = false;  // the owner has gone before it was stopped
  std::thread::id owner_ ABSL_GUARDED_BY(mutex_);   // the thread that has the communicator
  bool calling_ ABSL_GUARDED_BY(mutex_) = false;    // that thread is inside a call of NCCL
  std::optional<Deadline> limit_ ABSL_GUARDED_BY(mutex_);
  int groups_ ABSL_GUARDED_BY(mutex_) = 0;  // Grouped() calls in progress, nested
  Subscription failure_;                    // last: its callback uses the others
};

// When a call with these options ends: after their time-out, or after the communicator's.
inline Deadline DeadlineOf(const NcclHandle& handle, const CallOptions& options) {
  return Deadline(options.timeout.value_or(handle.timeout()), options.cancellation);
}

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_HANDLE_H_
