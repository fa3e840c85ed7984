#ifndef MUSTER_TESTS_NCCL_FAKE_NCCL_THREAD_H_
#define MUSTER_TESTS_NCCL_FAKE_NCCL_THREAD_H_

#include <cstdint>
#include <functional>

namespace fake_nccl {

// Runs `body` on a new thread that is never joined.
void StartThread(std::function<void()> body);

int64_t LiveThreads();

}  // namespace fake_nccl

#endif  // MUSTER_TESTS_NCCL_FAKE_NCCL_THREAD_H_
