#ifndef MUSTER_TESTS_NCCL_FAKE_FORKED_NCCL_RANKS_H_
#define MUSTER_TESTS_NCCL_FAKE_FORKED_NCCL_RANKS_H_

#include <nccl.h>
#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace muster::testing {

// What the ranks of one test share: memory, in which they pass ids to each other.
class Board {
 public:
  static constexpr int kSlots = 8;

  void Put(int slot, const ncclUniqueId& id);
  // Waits for it.
  ncclUniqueId Get(int slot);
  // Waits until it has been called `count` times.
  void Meet(int count);

 private:
  volatile int put_[kSlots] = {};
  ncclUniqueId ids_[kSlots] = {};
  int arrived_ = 0;
};

struct RankEnd {
  int status = 0;      // as waitpid() gives it
  std::string output;  // standard error
};

// Runs `body` in one forked process per rank and waits for them; each ends with status 0 unless an
// expectation failed in it. `env` is set in all. The calling process must not use CUDA or NCCL.
std::vector<RankEnd> RunForked(int size, const std::function<void(int rank, Board& board)>& body,
                               const std::map<std::string, std::string>& env = {});

// The same, and expects them all to end well.
void ExpectForked(int size, const std::function<void(int rank, Board& board)>& body,
                  const std::map<std::string, std::string>& env = {});

}  // namespace muster::testing

#endif  // MUSTER_TESTS_NCCL_FAKE_FORKED_NCCL_RANKS_H_
