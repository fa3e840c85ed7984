// Commands that give NCCL work, and that ask CUDA whether the work is done.

#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "tests/nccl/conformance/rank.h"

namespace muster::testing {
namespace {

constexpr size_t kBytes = 1 << 20;
constexpr unsigned kPollMicroseconds = 500;

void TakeMemory(RankState& rank) {
  if (rank.stream != nullptr) return;
  cudaSetDevice(rank.number);
  cudaStreamCreateWithFlags(&rank.stream, cudaStreamNonBlocking);
  cudaMalloc(&rank.in, kBytes);
  cudaMalloc(&rank.out, kBytes);
}

void* Pointer(const std::string& kind, void* device) {
  static void* const kHost = std::calloc(1, kBytes);
  if (kind == "null") return nullptr;
  return kind == "host" ? kHost : device;
}

std::string Operate(RankState& rank, const Command& command) {
  void* const in = Pointer(command.Get("in", "device"), rank.in);
  void* const out = Pointer(command.Get("out", "device"), rank.out);
  const auto count = std::strtoull(command.Get("count", "1000").c_str(), nullptr, 10);
  const auto type = static_cast<ncclDataType_t>(command.Number("type", ncclFloat32));
  const auto op = static_cast<ncclRedOp_t>(command.Number("op", ncclSum));
  const int root = command.Number("root", 0);
  const int peer = command.Number("peer", 1 - rank.number);
  const ncclComm_t comm = rank.comms[command.Get("comm", "comm")];
  const std::string& verb = command.verb;
  if (verb == "allreduce") {
    return NameOf(ncclAllReduce(in, out, count, type, op, comm, rank.stream));
  }
  if (verb == "reduce") {
    return NameOf(ncclReduce(in, out, count, type, op, root, comm, rank.stream));
  }
  if (verb == "broadcast") {
    return NameOf(ncclBroadcast(in, out, count, type, root, comm, rank.stream));
  }
  if (verb == "send") return NameOf(ncclSend(in, count, type, peer, comm, rank.stream));
  return NameOf(ncclRecv(out, count, type, peer, comm, rank.stream));
}

// Returns "done" when all work of the stream is done, or "busy" after the time is over.
std::string Stream(RankState& rank, int milliseconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  while (true) {
    const cudaError_t error = cudaStreamQuery(rank.stream);
    if (error == cudaSuccess) return "done";
    if (error != cudaErrorNotReady) return cudaGetErrorName(error);
    if (std::chrono::steady_clock::now() > end) return "busy";
    usleep(kPollMicroseconds);
  }
}

}  // namespace

std::string AnswerOperation(RankState& rank, const Command& command) {
  const std::string& verb = command.verb;
  TakeMemory(rank);
  if (verb == "stream") return Stream(rank, command.Has("busy") ? 200 : 10000);
  for (const char* known : {"allreduce", "reduce", "broadcast", "send", "recv"}) {
    if (verb == known) return Operate(rank, command);
  }
  return "";
}

}  // namespace muster::testing
