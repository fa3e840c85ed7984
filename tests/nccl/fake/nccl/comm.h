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

#include "tests/nccl/fake/nccl/bootstrap/socket.h"
#include "tests/nccl/fake/nccl/bootstrap/socket_mesh.h"

// The type behind ncclComm_t. The object outlives its freeing, so that later uses are detected.
struct ncclComm {
  int rank = 0;
  int size = 0;
  int device = 0;
  bool blocking = true;
  int max_ctas = NCCL_CONFIG_UNDEF_INT;
  uint64_t hash = 0;            // equal on all ranks
  std::vector<uint64_t> hosts;  // by rank

  std::atomic<ncclResult_t> state{ncclInProgress};     // of the calls on it
  std::atomic<ncclResult_t> proxy_error{ncclSuccess};  // of its connections; permanent
  // True from a call with a group job until the program hears that it is complete.
  std::atomic<bool> has_group_job{false};
  fake_nccl::AbortFlag abort{false};
  // The abort flag of the child that a Split is making. An abort of this communicator means both.
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
  uint64_t completed = 0;  // kernels
  uint64_t children = 0;   // number of Splits so far
  bool connected = false;  // for collectives
  std::vector<bool> connected_peers;

  std::mutex caller_mutex;
  std::thread::id caller;
  const char* function = nullptr;
  int depth = 0;
};

namespace fake_nccl {

// A call of NCCL on a communicator. Ends the process if the communicator has been freed, or if
// another thread is inside NCCL with it. NCCL is not thread-safe, and does not notice.
class Call {
 public:
  Call(ncclComm_t comm, const char* function);
  ~Call();
  Call(Call&& other) noexcept : comm_(std::exchange(other.comm_, nullptr)) {}

 private:
  ncclComm_t comm_;
};

ncclComm_t NewComm(int rank, int size);
// Release() frees all that the communicator holds, and blocks. Free() is for the program's calls:
// it ends the process if the real call might hang.
void Release(ncclComm_t comm);
void Free(ncclComm_t comm);
// Returns this process's communicators that have not been freed.
std::vector<ncclComm_t> LiveComms();

// Returns the result of ncclCommGetAsyncError. As in NCCL, an error of the connections shows once
// the calls have completed, and ncclCommRevoke does not clear it.
ncclResult_t StateOf(ncclComm_t comm);

// Returns ncclSuccess, or the error of a call on the communicator: its state if that is an error,
// or ncclInvalidArgument while the previous call is still in progress.
ncclResult_t EnsureReady(ncclComm_t comm);

// Returns `result`, for a failing call. If the communicator does not block, it becomes its state,
// as in NCCL.
ncclResult_t Poison(ncclComm_t comm, ncclResult_t result);

// Stops what runs on it if `value` is true. False allows children again, after a revocation.
void SetAbort(ncclComm_t comm, bool value);

void ChangeJobs(ncclComm_t comm, int by);
// Blocks until no job and no kernel runs.
void AwaitQuiet(ncclComm_t comm);

}  // namespace fake_nccl

#endif  // MUSTER_TESTS_NCCL_FAKE_NCCL_COMM_H_
