#ifndef MUSTER_CLIENT_NCCL_COMMUNICATOR_HANDLE_H_
#define MUSTER_CLIENT_NCCL_COMMUNICATOR_HANDLE_H_

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
#include "client/nccl/communicator/family.h"
#include "client/nccl/communicator/stop_board.h"
#include "client/nccl/device/cuda_device.h"
#include "client/src/base/deadline.h"
#include "muster/call_options.h"
#include "muster/group.h"

namespace muster::internal {

// Returns the status of `calls`, or INTERNAL, naming `function`, if it throws.
absl::Status CallGuarded(absl::string_view function, absl::FunctionRef<absl::Status()> calls);

// One ncclComm_t and its end. NCCL's communicators are not thread-safe, and a non-blocking one
// accepts no second call before the first has completed. Hence these rules:
//
//   - One thread at a time has the communicator. It makes its call and polls until NCCL has
//     completed it. Other threads wait for their turn, within their time-outs. NCCL's functions do
//     not block.
//   - Fail() publishes the end at once. The thread that has the communicator gives it back, and the
//     Stopper seizes it for good. From then on no other thread calls NCCL with it.
//   - mutex_ is held only for ncclCommGetAsyncError. Other calls of NCCL may wait for the device
//     (ncclCommSplit allocates pinned memory; a launch waits for room in its queue), so they run
//     without it. So health() and Fail() never wait for NCCL.
//   - ncclSuccess does not mean that a call has completed: ncclCommSplit returns it while one of
//     NCCL's threads is still working. So the asynchronous state is read after every call.
//
// The states are kOpen -> kSeized (the Stopper works on it) -> kStopped (quiescent) or kFreed. A
// healthy communicator stays kOpen until Close() destroys it. Thread-safe. A handle lives as long
// as the Stopper works on it. Tests: tests/client/nccl.
class NcclHandle {
 public:
  // A function that makes one NCCL call, or begins one.
  using Call = absl::FunctionRef<ncclResult_t(ncclComm_t comm)>;

  // Creates a handle and adds it to the live communicators of the process. `split_share` is as in
  // its ncclConfig_t. `board` is null if this rank has none. The caller must Close() or Discard()
  // it.
  static std::shared_ptr<NcclHandle> Open(const Group& group, const Device& device,
                                          absl::Duration timeout,
                                          int split_share = NCCL_CONFIG_UNDEF_INT,
                                          std::unique_ptr<StopBoard> board = nullptr);

  // Creates a handle for a communicator that NCCL will split from this one, which must be
  // initialized. The child joins this family if NCCL makes the two share an abort flag.
  std::shared_ptr<NcclHandle> OpenChild(const Group& group, std::unique_ptr<StopBoard> board) const;

  const Group& group() const { return group_; }
  const Device& device() const { return device_; }
  absl::Duration timeout() const { return timeout_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  // Returns the incarnations of the ranks, which identify them in later epochs of the job too.
  const std::vector<std::string>& incarnations() const { return incarnations_; }
  ncclComm_t comm() const;
  // Returns this communicator's board, or null if it has none.
  StopBoard* board() const { return board_.get(); }

  // Returns a title such as "AllReduce on rank 1 (node 'a', pid 7) with GPU 0 (...)".
  std::string Title(absl::string_view what) const;

  // ---- Calls ----

  // Calls `begin`, which makes NCCL create the communicator in *comm, and polls until it is ready.
  // An error does not end this object: the caller tells the peers first.
  absl::Status Initialize(absl::string_view what, const Deadline& deadline,
                          absl::FunctionRef<ncclResult_t(ncclComm_t* comm)> begin);

  // Makes one call and polls until NCCL has completed it and all that it began. Errors other than
  // NCCL's are DEADLINE_EXCEEDED and CANCELLED, with the title of `what`. An error does not end
  // this object.
  absl::Status Run(absl::string_view what, const Deadline& deadline, Call call);

  // Makes a call within timeout(), as Run(), and ends the communicator if it fails. Inside this
  // thread's Grouped(), only makes the call, and does not poll.
  absl::Status Operate(absl::string_view what, Call call);
  // As above, within `deadline`.
  absl::Status Operate(absl::string_view what, const Deadline& deadline, Call call);

  // Sets a deadline for later Operate() and Grouped() calls, in place of timeout().
  void SetOperationDeadline(const std::optional<Deadline>& deadline);

  // Runs `calls`; the operations that it starts with Operate() become one NCCL group.
  absl::Status Grouped(absl::FunctionRef<absl::Status()> calls);

  // Returns OK, the end, an error that names a peer that has stopped NCCL, or the asynchronous
  // error that NCCL reports. An operation has succeeded if its stream was idle and a later Poll()
  // returns OK. Does not wait for other threads' calls.
  absl::Status Poll(absl::string_view what);

  // ---- The end ----

  // Returns OK, or why this communicator has ended or cannot be used in this process.
  absl::Status health() const;

  // Ends this communicator and its family; the Stopper then stops them. Only the first call counts.
  // Does not block.
  void Fail(const absl::Status& why);

  // Blocks until NCCL has stopped the communicator: nothing of it runs on the device, and the
  // buffers given to it are free. Returns false at the deadline.
  bool AwaitStopped(SteadyTime deadline) const;

  // Returns whether NCCL does nothing more for this communicator: it is freed or stopped. False in
  // a fork.
  bool IsQuiet() const;

  // Calls Fail() and blocks until the communicator is stopped, for at most kStopWait. Returns
  // health(), with a note if NCCL has not stopped. If `why` MayBeLostPeer() and a member is indeed
  // lost, ends with the job's error in place of `why`.
  absl::Status End(const absl::Status& why);

  // Frees the communicator: a healthy one once its work is done, within `deadline`, any other one
  // once it is stopped. Does nothing in a fork of the process that opened it.
  void Close(const Deadline& deadline);

  // Adopts a communicator that a failed call has left behind, so that it is freed with this object,
  // and ends this object. Blocks until the Stopper is done with this object. Returns false, without
  // adopting, at `deadline`.
  bool TakeOver(ncclComm_t comm, const absl::Status& why, SteadyTime deadline);

  // Ends the communicator and frees it once it is stopped. If it is not stopped by `deadline`, the
  // Stopper frees it later.
  void Discard(const absl::Status& why, SteadyTime deadline);

  // How long callers wait for NCCL to stop before they report that it has not.
  static constexpr absl::Duration kStopWait = absl::Seconds(10);

  // ---- For the Stopper ----

  // Announces on this board, and on its family's boards, that NCCL is about to be stopped here.
  // Must precede each call that sets NCCL's abort flag.
  void AnnounceStop();
  // Sleeps for 100 ms if the job has ended and the communicator spans nodes. Ranks on other nodes
  // cannot see the board, so they should hear of the end before NCCL stops here.
  void DelayForOtherNodes() const;

  // Returns whether this communicator or its job has ended, and no thread has begun to stop it.
  bool NeedsStop();
  // Takes the communicator from its callers for good. Returns false while a call is in progress.
  bool Seize();
  // Returns whether ncclCommRevoke may be called: the communicator is initialized, is not being
  // finalized, and does not share its abort flag. ncclCommRevoke clears the flag at its end, when
  // others may still need it.
  bool CanRevoke() const;
  // Takes the ncclComm_t, which only the caller uses and frees from then on. May return null.
  ncclComm_t ReleaseComm();
  // Marks the communicator as stopped and, if `freed`, as freed by NCCL.
  void MarkStopped(bool freed);
  // Frees the communicator if it is stopped and its owner has gone.
  void FreeIfAbandoned();

  // ---- For the family ----

  // Wakes the threads that wait on this object, because the family has ended.
  void NotifyEnd();
  // Announces the stop on this object's board only.
  void AnnounceOwnStop();

 private:
  enum class Stage {
    kOpen,     // healthy, or ended and not yet seized
    kSeized,   // the Stopper works on it
    kStopped,  // quiescent, not freed
    kFreed,
  };

  NcclHandle(const Group& group, const Device& device, absl::Duration timeout, int split_share,
             std::shared_ptr<NcclFamily> family, std::unique_ptr<StopBoard> board);
  static std::shared_ptr<NcclHandle> Join(std::shared_ptr<NcclHandle> handle);

  absl::Status CheckProcess() const;
  // Blocks until no other thread has the communicator, and takes it. Returns health() if that ends
  // first.
  absl::Status Acquire(absl::string_view what, const Deadline& deadline);
  void Release();
  Deadline OperationDeadline() const;
  bool InGroup() const;
  // Makes a call on the communicator, which this thread must have, without holding the lock.
  ncclResult_t CallUnlocked(Call call);
  // Returns `result` as a status if it is an error. Otherwise polls until NCCL has completed the
  // call or the communicator has ended.
  absl::Status Complete(absl::string_view what, const Deadline& deadline, ncclResult_t result);
  absl::Status Finalize(const Deadline& deadline);
  void Free(SteadyTime deadline);
  void Destroy();
  ncclResult_t AsyncResult() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes NCCL release what it keeps for the completed call.
  void JoinCompletedCall() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status FamilyHealth() const { return family_->MemberHealth(this); }
  // Returns OK, or an error that names the peer that has stopped NCCL: DEADLINE_EXCEEDED if that
  // peer's time was up, otherwise UNAVAILABLE.
  absl::Status CheckPeers(absl::string_view what) const;
  // Returns whether the loss of a member may be the cause of an error.
  bool MayHaveLostPeer(const absl::Status& why) const;
  // Ends the family. `first` is as in NcclFamily::End().
  bool MarkFailed(const NcclHandle* first, const absl::Status& why);

  const Group group_;
  const Device device_;
  const absl::Duration timeout_;
  const int rank_;
  const int size_;
  const std::string description_;  // for messages
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
  bool abandoned_ ABSL_GUARDED_BY(mutex_) = false;  // the owner has gone before the stop
  std::thread::id owner_ ABSL_GUARDED_BY(mutex_);   // the thread that has the communicator
  bool calling_ ABSL_GUARDED_BY(mutex_) = false;    // that thread is inside a call of NCCL
  std::optional<Deadline> operation_deadline_ ABSL_GUARDED_BY(mutex_);
  int groups_ ABSL_GUARDED_BY(mutex_) = 0;  // Grouped() calls in progress, nested
  Subscription failure_;                    // last, since its callback uses the others
};

// Returns when a call with these options ends: after its time-out, else the communicator's.
inline Deadline DeadlineOf(const NcclHandle& handle, const CallOptions& options) {
  return Deadline(options.timeout.value_or(handle.timeout()), options.cancellation);
}

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_COMMUNICATOR_HANDLE_H_
