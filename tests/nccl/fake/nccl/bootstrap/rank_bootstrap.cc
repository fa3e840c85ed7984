#include "tests/nccl/fake/nccl/bootstrap/rank_bootstrap.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "common/text/fnv1a.h"
#include "tests/nccl/cuda/fake_cuda.h"
#include "tests/nccl/fake/nccl/bootstrap/root.h"
#include "tests/nccl/fake/nccl/error.h"
#include "tests/nccl/fake/nccl/fault.h"

namespace fake_nccl {
namespace {

constexpr auto kPoll = std::chrono::milliseconds(10);

ncclResult_t Aborted() { return Refuse(ncclInternalError, "bootstrap: abort called"); }

// Waits until aborted, as NCCL does if its root has quit.
ncclResult_t AwaitAbort(const ncclComm* comm) {
  while (!comm->abort) std::this_thread::sleep_for(kPoll);
  return Aborted();
}

// The two neighbours of a rank in the ring that the roots make.
struct Ring {
  Socket previous;
  Socket next;
};

bool SendCheckIn(const RootAddress& root, CheckIn info, Socket* reply, const AbortFlag& abort) {
  info.magic = root.magic;
  Socket socket = Socket::Connect(root.address);
  if (!socket.open() || !socket.Send(&info, sizeof info, abort)) return false;
  if (reply != nullptr) *reply = std::move(socket);
  return true;
}

// Asks the root of this rank's id for the next rank. If there are several ids, the first rank of
// each id also tells the previous root its address.
bool FindNextRank(const ncclComm& comm, const std::vector<ncclUniqueId>& ids,
                  const sockaddr_in& own, sockaddr_in* next) {
  CheckIn info;
  const int roots = static_cast<int>(ids.size());
  info.rank = Fault("same-rank") ? 0 : comm.rank;
  info.ranks = comm.size;
  info.roots = roots;
  info.address = own;
  const int root = RootOf(comm.rank, comm.size, roots);
  if (roots > 1 && FirstRankOf(root, comm.size, roots) == comm.rank) {
    info.root = (root + roots - 1) % roots;
    if (!SendCheckIn(Decode(ids[info.root]), info, nullptr, comm.abort)) return false;
  }
  info.root = root;
  info.wants_next = true;
  Socket reply;
  return SendCheckIn(Decode(ids[root]), info, &reply, comm.abort) &&
         reply.Receive(next, sizeof *next, comm.abort);
}

bool JoinRing(const ncclComm& comm, const std::vector<ncclUniqueId>& ids, Ring* ring) {
  sockaddr_in own = {};
  Socket listening = Socket::Listen(&own);
  sockaddr_in next = {};
  if (!FindNextRank(comm, ids, own, &next)) return false;
  ring->next = Socket::Connect(next);
  ring->previous = listening.Accept(comm.abort);
  return ring->next.open() && ring->previous.open();
}

bool AllGather(const ncclComm& comm, Ring& ring, std::vector<RankInfo>* infos) {
  for (int step = 0; step + 1 < comm.size; ++step) {
    const int sent = (comm.rank - step + comm.size) % comm.size;
    const int received = (comm.rank - step - 1 + comm.size) % comm.size;
    RankInfo& target = (*infos)[received];
    if (!ring.next.Send(&(*infos)[sent], sizeof target, comm.abort)) return false;
    if (!ring.previous.Receive(&target, sizeof target, comm.abort)) return false;
  }
  return true;
}

uint64_t HostHash() {
  for (const char* name : {"NCCL_HOSTID", "FAKE_CUDA_MACHINE"}) {
    const char* value = std::getenv(name);
    if (value != nullptr) return muster::Fnv1a64(value);
  }
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  return muster::Fnv1a64(host);
}

RankInfo OwnInfo(const ncclComm& comm, const std::vector<ncclUniqueId>& ids) {
  RankInfo info;
  ncclGetVersion(&info.version);
  info.ids = muster::Fnv1a64(ids.data(), ids.size() * sizeof(ncclUniqueId));
  info.host = HostHash();
  cudaDeviceProp properties = {};
  cudaGetDeviceProperties(&properties, comm.device);
  info.gpu = properties.uuid;
  return info;
}

// Checks what NCCL checks when it knows all ranks.
ncclResult_t CheckRanks(const ncclComm& comm, const std::vector<RankInfo>& infos) {
  const RankInfo& own = infos[comm.rank];
  for (int rank = 0; rank < comm.size; ++rank) {
    const RankInfo& other = infos[rank];
    if (other.version != own.version) {
      return Refuse(ncclInvalidUsage,
                    "Mismatched NCCL version detected : rank %d version %d rank %d version %d",
                    rank, other.version, comm.rank, own.version);
    }
    if (other.ids != own.ids) {
      fake_cuda::Violation("ranks %d and %d gave different ids, or in different order", comm.rank,
                           rank);
    }
    const bool same_gpu = std::memcmp(&other.gpu, &own.gpu, sizeof own.gpu) == 0;
    if (rank != comm.rank && other.host == own.host && same_gpu) {
      return Refuse(ncclInvalidUsage,
                    "Duplicate GPU detected : rank %d and rank %d both on CUDA device %d",
                    comm.rank, rank, comm.device);
    }
  }
  return ncclSuccess;
}

// Applies faults that strike after the other ranks know of this one.
ncclResult_t ApplyInitFaults(const ncclComm* comm) {
  if (Fault("init-die")) kill(getpid(), SIGKILL);
  if (Fault("init-error")) {
    return Refuse(ncclSystemError, "Call to connect failed : Connection timed out");
  }
  return Fault("init-hang") ? AwaitAbort(comm) : ncclSuccess;
}

struct Hello {
  int rank;
  int control;
};

Socket& Slot(std::vector<Mesh::Peer>& peers, const Hello& hello) {
  Mesh::Peer& peer = peers[hello.rank];
  return hello.control != 0 ? peer.control : peer.data;
}

}  // namespace

std::unique_ptr<Mesh> ConnectMesh(ncclComm_t comm, Socket own,
                                  const std::vector<sockaddr_in>& addresses) {
  std::vector<Mesh::Peer> peers(comm->size);
  for (int peer = 0; peer < comm->rank; ++peer) {
    for (int control : {0, 1}) {
      const Hello hello{comm->rank, control};
      Socket socket = Socket::Connect(addresses[peer]);
      if (!socket.open() || !socket.Send(&hello, sizeof hello, comm->abort)) {
        AwaitAbort(comm);  // that peer is gone
        return nullptr;
      }
      Slot(peers, {peer, control}) = std::move(socket);
    }
  }
  for (int i = 0; i < 2 * (comm->size - 1 - comm->rank); ++i) {
    Socket socket = own.Accept(comm->abort);
    Hello hello;
    if (!socket.open()) return nullptr;
    if (!socket.Receive(&hello, sizeof hello, comm->abort)) {
      AwaitAbort(comm);
      return nullptr;
    }
    Slot(peers, hello) = std::move(socket);
  }
  return std::make_unique<Mesh>(comm->rank, std::move(peers));
}

ncclResult_t Bootstrap(ncclComm_t comm, const std::vector<ncclUniqueId>& ids) {
  if (Fault("init-absent")) return AwaitAbort(comm);
  std::vector<RankInfo> infos(comm->size);
  RankInfo& own = infos[comm->rank] = OwnInfo(*comm, ids);
  Socket listening = Socket::Listen(&own.address);
  comm->hash = own.ids;
  Ring ring;
  if (!JoinRing(*comm, ids, &ring)) return AwaitAbort(comm);
  if (ncclResult_t result = ApplyInitFaults(comm); result != ncclSuccess) return result;
  if (!AllGather(*comm, ring, &infos)) return AwaitAbort(comm);
  if (ncclResult_t result = CheckRanks(*comm, infos); result != ncclSuccess) return result;
  std::vector<sockaddr_in> addresses;
  for (const RankInfo& info : infos) {
    addresses.push_back(info.address);
    comm->hosts.push_back(info.host);
  }
  comm->mesh = ConnectMesh(comm, std::move(listening), addresses);
  return comm->mesh == nullptr ? Aborted() : ncclSuccess;
}

}  // namespace fake_nccl
