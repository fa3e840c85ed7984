// Split: communicators made from others. The members meet through the parent's control connections.
//
// As in NCCL, the call returns ncclSuccess at once, and its state is the parent's. *out is set at
// the end, even if the call fails. Then the program must abort what it gets.

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "common/text/fnv1a.h"
#include "tests/nccl/cuda/fake_cuda.h"
#include "tests/nccl/fake/nccl/bootstrap/rank_bootstrap.h"
#include "tests/nccl/fake/nccl/comm.h"
#include "tests/nccl/fake/nccl/config.h"
#include "tests/nccl/fake/nccl/error.h"
#include "tests/nccl/fake/nccl/fault.h"
#include "tests/nccl/fake/nccl/operations/group_calls.h"

namespace fake_nccl {
namespace {

struct Member {
  int color = 0;
  int key = 0;
  int parent_rank = 0;
  sockaddr_in address = {};
};

struct SplitRequest {
  ncclComm_t parent = nullptr;
  uint64_t number = 0;        // counts the parent's children
  std::vector<int> expected;  // the parent's ranks that take part
  Member self;
  bool blocking = true;
  ncclComm_t* out = nullptr;
};

ncclResult_t Aborted() { return Refuse(ncclInternalError, "bootstrap: abort called"); }

// Collects the members of this rank's color, in the child's order. Returns false if aborted.
bool ExchangeMembers(const SplitRequest& split, std::vector<Member>* members) {
  ncclComm_t const parent = split.parent;
  for (int peer : split.expected) {
    if (!parent->mesh->Send(peer, MessageKind::kChild, split.number, &split.self, sizeof split.self,
                            parent->abort)) {
      return false;
    }
  }
  for (int peer : split.expected) {
    Message message;
    if (!parent->mesh->Receive(peer, MessageKind::kChild, &message, parent->abort)) return false;
    if (message.tag != split.number) {
      fake_cuda::Violation("ranks split a communicator in different order");
    }
    Member member;
    std::memcpy(&member, message.bytes.data(), sizeof member);
    if (member.color == split.self.color) members->push_back(member);
  }
  std::sort(members->begin(), members->end(), [](const Member& a, const Member& b) {
    return std::make_pair(a.key, a.parent_rank) < std::make_pair(b.key, b.parent_rank);
  });
  return true;
}

ncclComm_t NewChild(const SplitRequest& split) {
  const ncclComm_t child = NewComm(/*rank=*/-1, /*size=*/0);
  child->device = split.parent->device;
  child->blocking = split.blocking;
  split.parent->child_abort = &child->abort;
  if (split.parent->abort) child->abort = true;
  return child;
}

void AssignRank(ncclComm_t child, const SplitRequest& split, const std::vector<Member>& members) {
  const auto self = std::find_if(members.begin(), members.end(), [&](const Member& member) {
    return member.parent_rank == split.self.parent_rank;
  });
  child->rank = static_cast<int>(self - members.begin());
  child->size = static_cast<int>(members.size());
  const uint64_t content[] = {split.parent->hash, split.number,
                              static_cast<uint64_t>(split.self.color)};
  child->hash = muster::Fnv1a64(content, sizeof content);
  child->connected_peers.resize(members.size());
  for (const Member& member : members) {
    child->hosts.push_back(split.parent->hosts[member.parent_rank]);
  }
}

ncclResult_t ConnectChild(ncclComm_t child, Socket listening, const std::vector<Member>& members) {
  if (ncclResult_t result = AllocateDeviceMemory(child); result != ncclSuccess) return result;
  if (Fault("child-error")) {
    return Refuse(ncclSystemError, "Call to connect failed : Connection timed out");
  }
  std::vector<sockaddr_in> addresses;
  for (const Member& member : members) addresses.push_back(member.address);
  child->mesh = ConnectMesh(child, std::move(listening), addresses);
  return child->mesh == nullptr ? Aborted() : ncclSuccess;
}

ncclResult_t InitializeChild(ncclComm_t child, SplitRequest* split) {
  Socket listening = Socket::Listen(&split->self.address);
  std::vector<Member> members;
  if (!ExchangeMembers(*split, &members)) return Aborted();
  if (child == nullptr) return ncclSuccess;
  AssignRank(child, *split, members);
  return ConnectChild(child, std::move(listening), members);
}

ncclResult_t RunSplit(SplitRequest split) {
  const bool wanted = split.self.color != NCCL_SPLIT_NOCOLOR;
  const ncclComm_t child = wanted ? NewChild(split) : nullptr;
  const ncclResult_t result = InitializeChild(child, &split);
  if (child == nullptr) return result;
  split.parent->child_abort = nullptr;
  child->state = result;
  child->initialized = result == ncclSuccess;
  __atomic_store_n(split.out, child, __ATOMIC_RELEASE);
  return result;
}

ncclResult_t Begin(SplitRequest split, const ncclConfig_t* config) {
  if (ncclResult_t ready = EnsureReady(split.parent); ready != ncclSuccess) return ready;
  const ncclResult_t result = ReadBlocking(config, split.parent->blocking, &split.blocking);
  if (result != ncclSuccess) return result;
  *split.out = nullptr;
  split.number = ++split.parent->children;
  split.self.parent_rank = split.parent->rank;
  AddJob(split.parent, [split] { return RunSplit(split); });
  return ncclSuccess;
}

std::vector<int> RanksOf(ncclComm_t comm) {
  std::vector<int> ranks(comm->size);
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

}  // namespace
}  // namespace fake_nccl

extern "C" {

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* out,
                           ncclConfig_t* config) {
  using namespace fake_nccl;
  if (comm == nullptr || out == nullptr) return RefuseNull(__func__);
  const Call call(comm, __func__);
  SplitRequest split;
  split.parent = comm;
  split.expected = RanksOf(comm);
  split.self.color = color;
  split.self.key = key;
  split.out = out;
  return RunInGroup(nullptr, [&] { return Begin(split, config); });
}

}  // extern "C"
