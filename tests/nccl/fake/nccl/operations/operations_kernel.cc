// The part of NCCL that runs on the device, here on a stream's thread.

#include "tests/nccl/fake/nccl/operations/operations_kernel.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <utility>

#include "common/text/fnv1a.h"
#include "tests/nccl/cuda/fake_cuda.h"
#include "tests/nccl/fake/nccl/comm.h"
#include "tests/nccl/fake/nccl/error.h"
#include "tests/nccl/fake/nccl/fault.h"
#include "tests/nccl/fake/nccl/operations/reduce.h"

namespace fake_nccl {
namespace {

constexpr auto kPoll = std::chrono::milliseconds(10);

class Kernel {
 public:
  Kernel(ncclComm_t comm, std::vector<Operation> operations, uint64_t number)
      : comm_(comm), operations_(std::move(operations)), number_(number) {}

  void Run() {
    if (AwaitTurn()) {
      ApplyFaults();
      if (SendAll() && ReceiveAll()) AwaitReceivers();
    }
    const std::lock_guard<std::mutex> lock(comm_->mutex);
    ++comm_->completed;
    comm_->changed.notify_all();
  }

 private:
  using Buffers = std::vector<const char*>;  // by rank; null if the rank contributes nothing

  // Blocks until earlier kernels of the communicator have run, whatever their streams. Returns
  // false if aborted.
  bool AwaitTurn() {
    std::unique_lock<std::mutex> lock(comm_->mutex);
    comm_->changed.wait(lock, [&] { return comm_->completed == number_; });
    return !comm_->abort;
  }

  void AwaitAbort() {
    while (!comm_->abort) std::this_thread::sleep_for(kPoll);
  }

  void ApplyFaults() {
    if (Fault("op-die")) {
      SendTo((comm_->rank + 1) % comm_->size, operations_.front());
      kill(getpid(), SIGKILL);
    }
    if (Fault("op-error")) {
      Warn("NET/IB : Got completion from peer with status=12 opcode=0 len=0 vendor err 129");
      comm_->proxy_error = ncclRemoteError;
      AwaitAbort();
    }
    if (Fault("op-hang")) AwaitAbort();
  }

  size_t BytesOf(const Operation& op) const { return op.count * SizeOf(op.type); }

  // Returns a tag by which the ranks detect that their calls differ.
  uint64_t TagOf(const Operation& op) const {
    const uint64_t content[] = {static_cast<uint64_t>(op.kind), op.count,
                                static_cast<uint64_t>(op.type), static_cast<uint64_t>(op.reduction),
                                static_cast<uint64_t>(op.peer)};
    return IsCollective(op) ? muster::Fnv1a64(content, sizeof content)
                            : muster::Fnv1a64(content + 1, 2 * sizeof(uint64_t));
  }

  bool SendsTo(int peer, const Operation& op) const {
    if (op.kind == OperationKind::kSend) return peer == op.peer;
    if (op.kind == OperationKind::kRecv || peer == comm_->rank) return false;
    if (op.kind == OperationKind::kBroadcast) return comm_->rank == op.peer;
    if (op.kind == OperationKind::kReduce) return peer == op.peer;
    return true;
  }

  bool ReceivesFrom(int peer, const Operation& op) const {
    if (op.kind == OperationKind::kRecv) return peer == op.peer;
    if (op.kind == OperationKind::kSend || peer == comm_->rank) return false;
    if (op.kind == OperationKind::kBroadcast) return peer == op.peer;
    if (op.kind == OperationKind::kReduce) return comm_->rank == op.peer;
    return true;
  }

  const char* In(const Operation& op, int receiver) const {
    const bool scatters = op.kind == OperationKind::kReduceScatter;
    const size_t size = BytesOf(op) * (scatters ? comm_->size : 1);
    const char* in = static_cast<const char*>(fake_cuda::Reach(op.in, size));
    return in != nullptr && scatters ? in + receiver * BytesOf(op) : in;
  }

  char* Out(const Operation& op) const {
    const size_t parts = op.kind == OperationKind::kAllGather ? comm_->size : 1;
    return static_cast<char*>(fake_cuda::Reach(op.out, BytesOf(op) * parts));
  }

  bool SendTo(int peer, const Operation& op) {
    const MessageKind kind =
        IsCollective(op) ? MessageKind::kCollective : MessageKind::kPointToPoint;
    return comm_->mesh->Send(peer, kind, TagOf(op), In(op, peer), BytesOf(op), comm_->abort);
  }

  bool SendAll() {
    for (const Operation& op : operations_) {
      for (int peer = 0; peer < comm_->size; ++peer) {
        if (SendsTo(peer, op) && !SendTo(peer, op)) return false;
      }
    }
    return true;
  }

  bool ReceiveFrom(int peer, const Operation& op, Message* message) {
    const MessageKind kind =
        IsCollective(op) ? MessageKind::kCollective : MessageKind::kPointToPoint;
    if (!comm_->mesh->Receive(peer, kind, message, comm_->abort)) return false;
    if (message->tag != TagOf(op)) {
      std::fprintf(stderr,
                   "fake NCCL: ranks %d and %d disagree about %s: NCCL would hang, or mix "
                   "up their data\n",
                   comm_->rank, peer, op.function);
      AwaitAbort();
      return false;
    }
    if (IsCollective(op)) return true;
    return comm_->mesh->Send(peer, MessageKind::kReceived, 0, nullptr, 0, comm_->abort);
  }

  bool ReceiveAll() {
    for (const Operation& op : operations_) {
      std::map<int, Message> messages;
      for (int peer = 0; peer < comm_->size; ++peer) {
        if (ReceivesFrom(peer, op) && !ReceiveFrom(peer, op, &messages[peer])) return false;
      }
      Buffers buffers(comm_->size);
      for (const auto& [peer, message] : messages) buffers[peer] = message.bytes.data();
      if (IsCollective(op) && op.count > 0) buffers[comm_->rank] = In(op, comm_->rank);
      StoreResult(op, buffers);
    }
    return true;
  }

  void StoreResult(const Operation& op, const Buffers& in) const {
    const size_t bytes = BytesOf(op);
    if (bytes == 0) return;
    switch (op.kind) {
      case OperationKind::kReduce:
        if (comm_->rank != op.peer) return;
        [[fallthrough]];
      case OperationKind::kAllReduce:
      case OperationKind::kReduceScatter:
        return Reduce(in, op.count, op.type, op.reduction, Out(op));
      case OperationKind::kAllGather:
        for (int rank = 0; rank < comm_->size; ++rank) {
          std::memmove(Out(op) + rank * bytes, in[rank], bytes);
        }
        return;
      case OperationKind::kBroadcast:
      case OperationKind::kRecv:
        std::memmove(Out(op), in[op.peer], bytes);
        return;
      case OperationKind::kSend:
        return;
    }
  }

  // Waits for the receivers: a send ends when its data has been received. Returns false if aborted.
  bool AwaitReceivers() {
    for (const Operation& op : operations_) {
      Message message;
      const bool sent = op.kind == OperationKind::kSend;
      if (sent && !comm_->mesh->Receive(op.peer, MessageKind::kReceived, &message, comm_->abort)) {
        return false;
      }
    }
    return true;
  }

  ncclComm_t const comm_;
  const std::vector<Operation> operations_;
  const uint64_t number_;
};

bool Exchange(ncclComm_t comm, MessageKind kind, const std::set<int>& peers) {
  for (int peer : peers) {
    if (!comm->mesh->Send(peer, kind, 0, nullptr, 0, comm->abort)) return false;
  }
  for (int peer : peers) {
    Message message;
    if (!comm->mesh->Receive(peer, kind, &message, comm->abort)) return false;
  }
  return true;
}

bool ConnectAll(ncclComm_t comm) {
  std::set<int> peers;
  for (int peer = 0; peer < comm->size; ++peer) peers.insert(peer);
  comm->connected = true;
  return Exchange(comm, MessageKind::kConnect, peers);
}

bool Connect(ncclComm_t comm, const std::vector<Operation>& operations) {
  std::set<int> peers;
  bool collective = false;
  for (const Operation& op : operations) {
    if (IsCollective(op)) collective = true;
    if (!IsCollective(op) && !comm->connected_peers[op.peer]) peers.insert(op.peer);
  }
  for (int peer : peers) comm->connected_peers[peer] = true;
  if (collective && !comm->connected && !ConnectAll(comm)) return false;
  return Exchange(comm, MessageKind::kConnectPeer, peers);
}

// Returns the memory that the operations access. Kernels of one communicator run one after another,
// whatever their streams.
std::vector<fake_cuda::Access> AccessesOf(const ncclComm& comm,
                                          const std::vector<Operation>& operations) {
  std::vector<fake_cuda::Access> accesses;
  for (const Operation& op : operations) {
    const size_t bytes = op.count * SizeOf(op.type);
    if (bytes == 0) continue;
    if (const size_t parts = PartsRead(op, comm.rank, comm.size); parts > 0) {
      accesses.push_back({op.in, bytes * parts, /*writes=*/false, op.function, &comm});
    }
    if (const size_t parts = PartsWritten(op, comm.rank, comm.size); parts > 0) {
      accesses.push_back({op.out, bytes * parts, /*writes=*/true, op.function, &comm});
    }
  }
  return accesses;
}

}  // namespace

ncclResult_t Launch(ncclComm_t comm, const std::vector<Operation>& operations) {
  if (!Connect(comm, operations)) return Refuse(ncclInternalError, "connect: abort called");
  std::vector<cudaStream_t> streams;
  for (const Operation& op : operations) {
    const bool known = std::find(streams.begin(), streams.end(), op.stream) != streams.end();
    if (!known) streams.push_back(op.stream);
  }
  cudaSetDevice(comm->device);  // a null handle is this device's default stream
  std::shared_ptr<Kernel> kernel;
  {
    const std::lock_guard<std::mutex> lock(comm->mutex);
    kernel = std::make_shared<Kernel>(comm, operations, comm->launched++);
  }
  fake_cuda::Launch(
      streams, [kernel] { kernel->Run(); }, AccessesOf(*comm, operations));
  return ncclSuccess;
}

}  // namespace fake_nccl
