#ifndef MUSTER_TESTS_NCCL_FAKE_FORKED_NCCL_RANKS_H_
#define MUSTER_TESTS_NCCL_FAKE_FORKED_NCCL_RANKS_H_

#include <nccl.h>
#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace muster::testing {

// Memory that the ranks of one test share, in which they pass ids to each other.
class IdExchange {
 public:
  static constexpr int kSlots = 8;

  void Put(int slot, const ncclUniqueId& id);
  // Blocks until the id is there, and returns it.
  ncclUniqueId Get(int slot);
  // Blocks until it has been called `count` times.
  void AwaitAll(int count);

 private:
  volatile int put_[kSlots] = {};
  ncclUniqueId ids_[kSlots] = {};
  int arrived_ = 0;
};

struct RankExit {
  int status = 0;      // as waitpid() returns it
  std::string output;  // standard error
};

// Runs `body` in one forked process for each rank, and waits for them. Each ends with status 0,
// unless an expectation failed in it. `env` is set in all processes. The calling process must not
// use CUDA or NCCL.
std::vector<RankExit> RunForked(int size,
                                const std::function<void(int rank, IdExchange& exchange)>& body,
                                const std::map<std::string, std::string>& env = {});

// Calls RunForked(), and expects that all ranks succeed.
void ExpectForked(int size, const std::function<void(int rank, IdExchange& exchange)>& body,
                  const std::map<std::string, std::string>& env = {});

}  // namespace muster::testing

#endif  // MUSTER_TESTS_NCCL_FAKE_FORKED_NCCL_RANKS_H_
