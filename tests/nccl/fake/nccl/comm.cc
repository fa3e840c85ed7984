#include "tests/nccl/fake/nccl/comm.h"

#include <chrono>
#include <set>
#include <utility>

#include "tests/nccl/cuda/fake_cuda.h"
#include "tests/nccl/fake/fake_nccl.h"
#include "tests/nccl/fake/nccl/error.h"
#include "tests/nccl/fake/nccl/fault.h"
#include "tests/nccl/fake/nccl/thread.h"

namespace fake_nccl {
namespace {

constexpr std::chrono::seconds kOthersStopWait{5};

struct Registry {
  std::mutex mutex;
  std::set<ncclComm_t> all;  // includes freed ones
};

Registry& TheRegistry() {
  static auto* const kRegistry = new Registry();
  return *kRegistry;
}

void CheckExists(ncclComm_t comm, const char* function) {
  Registry& registry = TheRegistry();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  if (registry.all.count(comm) == 0) {
    fake_cuda::Violation("%s on %p, which is no communicator", function, static_cast<void*>(comm));
  }
  if (comm->freed) fake_cuda::Violation("%s on a communicator that has been freed", function);
}

bool HasWork(ncclComm_t comm) {
  const std::lock_guard<std::mutex> lock(comm->mutex);
  return comm->jobs > 0 || comm->completed < comm->launched;
}

bool HasHungOther(ncclComm_t freed) {
  for (ncclComm_t other : LiveComms()) {
    if (other == freed || other->abort || other->mesh == nullptr) continue;
    if (HasWork(other) && other->mesh->IsAnyLost()) return true;
  }
  return false;
}

// Waits until no kernel of another communicator waits for a lost peer, and ends the process if that
// takes too long: freeing waits for the device, and such a kernel only ends if it is stopped.
void AwaitOthersStopped(ncclComm_t freed) {
  const auto deadline = std::chrono::steady_clock::now() + kOthersStopWait;
  while (HasHungOther(freed)) {
    if (std::chrono::steady_clock::now() >= deadline) {
      fake_cuda::Violation(
          "a communicator is freed while another one of this process has lost a peer, has work, "
          "and is not stopped: NCCL would hang");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

ncclResult_t ReadField(ncclComm_t comm, int ncclComm::*member, int* value, const char* function) {
  if (comm == nullptr || value == nullptr) return RefuseNull(function);
  const Call call(comm, function);
  const ncclResult_t ready = EnsureReady(comm);
  if (ready == ncclSuccess) *value = comm->*member;
  return ready;
}

// Returns whether a connection is lost. A rank of the same host uses shared memory, which does not
// close when it dies.
bool ConnectionLost(ncclComm_t comm) {
  if (comm->mesh == nullptr || !HasWork(comm)) return false;
  for (int peer = 0; peer < comm->size; ++peer) {
    if (comm->hosts[peer] != comm->hosts[comm->rank] && comm->mesh->IsLost(peer)) return true;
  }
  return false;
}

}  // namespace

Call::Call(ncclComm_t comm, const char* function) : comm_(comm) {
  CheckExists(comm, function);
  const std::lock_guard<std::mutex> lock(comm->caller_mutex);
  if (comm->depth > 0 && comm->caller != std::this_thread::get_id()) {
    fake_cuda::Violation("%s while another thread is in %s on the same communicator", function,
                         comm->function);
  }
  comm->caller = std::this_thread::get_id();
  comm->function = function;
  ++comm->depth;
}

Call::~Call() {
  if (comm_ == nullptr) return;
  const std::lock_guard<std::mutex> lock(comm_->caller_mutex);
  --comm_->depth;
}

ncclComm_t NewComm(int rank, int size) {
  auto* const comm = new ncclComm();
  comm->rank = rank;
  comm->size = size;
  comm->connected_peers.resize(size);
  Registry& registry = TheRegistry();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  registry.all.insert(comm);
  return comm;
}

void Free(ncclComm_t comm) {
  AwaitQuiet(comm);
  if (const auto slow = Fault("abort-slow")) {
    std::this_thread::sleep_for(std::chrono::milliseconds(*slow));
  }
  AwaitOthersStopped(comm);
  Release(comm);
}

void Release(ncclComm_t comm) {
  if (comm->memory != nullptr) cudaFree(comm->memory);
  comm->mesh.reset();
  comm->freed = true;
}

std::vector<ncclComm_t> LiveComms() {
  Registry& registry = TheRegistry();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  std::vector<ncclComm_t> live;
  for (ncclComm_t comm : registry.all) {
    if (!comm->freed) live.push_back(comm);
  }
  return live;
}

ncclResult_t StateOf(ncclComm_t comm) {
  if (comm->state == ncclSuccess && comm->proxy_error == ncclSuccess && ConnectionLost(comm)) {
    Warn("NET/Socket : remote peer closed the connection");
    comm->proxy_error = ncclRemoteError;
  }
  const ncclResult_t state = comm->state == ncclSuccess ? comm->proxy_error : comm->state;
  if (state == ncclSuccess) comm->has_group_job = false;
  return state;
}

ncclResult_t EnsureReady(ncclComm_t comm) {
  const ncclResult_t state = StateOf(comm);
  if (state != ncclInProgress) return state;
  return Refuse(ncclInvalidArgument,
                "Attempt to use communicator before the previous operation returned ncclSuccess");
}

ncclResult_t Poison(ncclComm_t comm, ncclResult_t result) {
  if (!comm->blocking && result != ncclSuccess) comm->state = result;
  return result;
}

void SetAbort(ncclComm_t comm, bool value) {
  comm->abort = value;
  AbortFlag* const child = comm->child_abort;
  if (child != nullptr && value) *child = true;
  const std::lock_guard<std::mutex> lock(comm->mutex);
  comm->changed.notify_all();
}

void ChangeJobs(ncclComm_t comm, int by) {
  const std::lock_guard<std::mutex> lock(comm->mutex);
  comm->jobs += by;
  comm->changed.notify_all();
}

void AwaitQuiet(ncclComm_t comm) {
  std::unique_lock<std::mutex> lock(comm->mutex);
  comm->changed.wait(lock, [&] { return comm->jobs == 0 && comm->completed == comm->launched; });
}

int MaxCtasOf(ncclComm_t comm) { return comm->max_ctas; }

Counters CurrentCounters() {
  Counters counters;
  counters.communicators = static_cast<int64_t>(LiveComms().size());
  counters.threads = LiveThreads();
  counters.sockets = LiveSockets();
  return counters;
}

}  // namespace fake_nccl

extern "C" {

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  if (comm == nullptr || error == nullptr) return fake_nccl::RefuseNull(__func__);
  const fake_nccl::Call call(comm, __func__);
  *error = fake_nccl::StateOf(comm);
  return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  return fake_nccl::ReadField(comm, &ncclComm::size, count, __func__);
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  return fake_nccl::ReadField(comm, &ncclComm::device, device, __func__);
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  return fake_nccl::ReadField(comm, &ncclComm::rank, rank, __func__);
}

}  // extern "C"
