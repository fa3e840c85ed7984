// The listening root behind an ncclUniqueId. As in NCCL (src/bootstrap.cc, bootstrapRoot), it waits
// for its ranks without a time-out, and nothing ends it before they have come. A rank that checks
// in twice, or a disagreement of the ranks, makes it quit, with a warning that no caller sees.

#include "tests/nccl/fake/nccl/bootstrap/root.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "tests/nccl/fake/nccl/bootstrap/socket.h"
#include "tests/nccl/fake/nccl/error.h"
#include "tests/nccl/fake/nccl/fault.h"
#include "tests/nccl/fake/nccl/thread.h"

namespace fake_nccl {
namespace {

class Root {
 public:
  Root(Socket listening, uint64_t magic) : listening_(std::move(listening)), magic_(magic) {}

  void Run() {
    while (!Complete()) {
      if (!HandleCheckIn()) return;
    }
    for (auto& [rank, socket] : waiting_) {
      const int next = (rank + 1) % first_.ranks;
      if (!socket.Send(&addresses_[next], sizeof addresses_[next], never_)) return;
    }
  }

 private:
  bool Complete() const {
    if (addresses_.empty()) return false;
    const int begin = FirstRankOf(first_.root, first_.ranks, first_.roots);
    const int end = FirstRankOf(first_.root + 1, first_.ranks, first_.roots);
    const size_t own = end - begin;
    return waiting_.size() == own && addresses_.size() == own + (first_.roots > 1 ? 1 : 0);
  }

  bool HandleCheckIn() {
    Socket socket = listening_.Accept(never_);
    CheckIn info;
    if (!socket.Receive(&info, sizeof info, never_) || info.magic != magic_) return true;
    if (addresses_.empty()) first_ = info;
    const bool agrees =
        info.ranks == first_.ranks && info.roots == first_.roots && info.root == first_.root;
    if (!agrees) {
      Warn(
          "Bootstrap Root : mismatch in info from procs, nranks %d vs %d, nroots %d vs %d, "
          "iroot %d vs %d",
          first_.ranks, info.ranks, first_.roots, info.roots, first_.root, info.root);
      return false;
    }
    if (!addresses_.emplace(info.rank, info.address).second) {
      Warn("Bootstrap Root : rank %d of %d ranks has already checked in", info.rank, info.ranks);
      return false;
    }
    if (info.wants_next) waiting_.emplace(info.rank, std::move(socket));
    return true;
  }

  const AbortFlag never_{false};
  Socket listening_;
  const uint64_t magic_;
  CheckIn first_;
  std::map<int, sockaddr_in> addresses_;  // by rank
  std::map<int, Socket> waiting_;         // by rank
};

uint64_t RandomNumber() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

}  // namespace

RootAddress Decode(const ncclUniqueId& id) {
  RootAddress root;
  std::memcpy(&root, id.internal, sizeof root);
  return root;
}

int FirstRankOf(int root, int ranks, int roots) {
  return root * (ranks / roots) + std::min(root, ranks % roots);
}

int RootOf(int rank, int ranks, int roots) {
  int root = 0;
  while (root + 1 < roots && FirstRankOf(root + 1, ranks, roots) <= rank) ++root;
  return root;
}

}  // namespace fake_nccl

extern "C" ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  using namespace fake_nccl;
  if (id == nullptr) return Refuse(ncclInvalidArgument, "GetUniqueId : out argument is NULL");
  if (Fault("id-error")) {
    return Refuse(ncclSystemError, "Bootstrap : no socket interface found");
  }
  if (const auto slow = Fault("id-slow")) {
    std::this_thread::sleep_for(std::chrono::milliseconds(*slow));
  }
  RootAddress address;
  address.magic = RandomNumber();
  auto root = std::make_shared<Root>(Socket::Listen(&address.address), address.magic);
  std::memset(id, 0, sizeof *id);
  std::memcpy(id->internal, &address, sizeof address);
  StartThread([root] { root->Run(); });
  return ncclSuccess;
}
