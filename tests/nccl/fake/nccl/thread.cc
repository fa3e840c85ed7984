#include "tests/nccl/fake/nccl/thread.h"

#include <atomic>
#include <thread>
#include <utility>

namespace fake_nccl {
namespace {

std::atomic<int64_t> live{0};

}  // namespace

void StartThread(std::function<void()> body) {
  ++live;
  std::thread([body = std::move(body)]() mutable {
    body();
    body = nullptr;
    --live;
  }).detach();
}

int64_t LiveThreads() { return live; }

}  // namespace fake_nccl
