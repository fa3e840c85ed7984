#ifndef MUSTER_TESTS_NCCL_FAKE_NCCL_COMM_H_
#define MUSTER_TESTS_NCCL_FAKE_NCCL_COMM_H_

#include <nccl.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/nccl/fake/nccl/socket.h"
#include "tests/nccl/fake/nccl/socket_mesh.h"

// What ncclComm_t points to. It outlives its freeing, so that a later use is seen.
struct ncclComm {
  int rank = 0;
  int size = 0;
  int device = 0;
  bool blocking = true;
  int max_ctas = NCCL_CONFIG_UNDEF_INT;
  uint64_t hash = 0;            // the same on all ranks
  std::vector<uint64_t> hosts;  // by rank

  std::atomic<ncclResult_t> state{ncclInProgress};     // of the calls on it
  std::atomic<ncclResult_t> proxy_error{ncclSuccess};  // of its connections; stays for good
  // The call before has a group job, until the program hears that it is complete.
  std::atomic<bool> has_group_job{false};
  fake_nccl::AbortFlag abort{false};
  // Of the child that a Split of this one is making: who aborts this one means both.
  std::atomic<fake_nccl::AbortFlag*> child_abort{nullptr};

  bool initialized = false;
  bool finalized = false;  // ncclCommFinalize was called
  bool revoked = false;
  std::atomic<bool> freed{false};

  std::unique_ptr<fake_nccl::Mesh> mesh;
  void* memory = nullptr;  // on the device

  std::mutex mutex;
  std::condition_variable changed;
  int jobs = 0;            // on threads of the host
  uint64_t launched = 0;   // kernels, which run one after another
  uint64_t completed = 0;  // likewise
  uint64_t children = 0;   // Splits so far
  bool connected = false;  // for collectives
  std::vector<bool> connected_peers;

  std::mutex caller_mutex;
  std::thread::id caller;
  const char* function = nullptr;
  int depth = 0;
};

namespace fake_nccl {

// A call of NCCL on a communicator. Ends the process if the communicator is gone, or another thread
// is inside NCCL with it: NCCL is not thread-safe, and does not notice.
class Call {
 public:
  Call(ncclComm_t comm, const char* function);
  ~Call();
  Call(Call&& other) noexcept : comm_(std::exchange(other.comm_, nullptr)) {}

 private:
  ncclComm_t comm_;
};

ncclComm_t NewComm(int rank, int size);
// Releases everything it holds; blocks. Free() is for the program's calls: it ends the process if
// the real one might hang.
void Release(ncclComm_t comm);
void Free(ncclComm_t comm);
// Of this process; freed ones are not among them.
std::vector<ncclComm_t> LiveComms();

// What ncclCommGetAsyncError says. As in NCCL, an error of the connections shows once the calls are
// through, and ncclCommRevoke does not clear it.
ncclResult_t StateOf(ncclComm_t comm);

// OK, or the error that a call on it gives: its state where that is an error, ncclInvalidArgument
// while the call before is still in progress.
ncclResult_t EnsureReady(ncclComm_t comm);

// For a failing call: NCCL makes it the state of a communicator that does not block.
ncclResult_t Poison(ncclComm_t comm, ncclResult_t result);

// Stops what runs on it; both directions: a revoked one may be used for children again.
void SetAbort(ncclComm_t comm, bool value);

void ChangeJobs(ncclComm_t comm, int by);
// Blocks until no job and no kernel runs.
void AwaitQuiet(ncclComm_t comm);

}  // namespace fake_nccl

#endif  // MUSTER_TESTS_NCCL_FAKE_NCCL_COMM_H_
