#ifndef MUSTER_TESTS_SERVER_CORE_RANDOM_RANDOM_PROGRAM_H_
#define MUSTER_TESTS_SERVER_CORE_RANDOM_RANDOM_PROGRAM_H_

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "server/core/api/requests.h"

namespace muster::core {

// A random program of collectives that all ranks of a job run, and a naive model of their results.
// There are two groups: the world, and "sub", which lists its ranks in reverse.
class RandomProgram {
 public:
  struct Op {
    CollectiveKind kind;
    uint32_t root;
  };

  RandomProgram(uint32_t size, std::mt19937_64* random);

  const std::vector<Op>& OpsOf(const std::string& group) const { return ops_.at(group); }
  std::vector<uint32_t> Ranks(const std::string& group) const;
  const std::vector<uint32_t>& sub() const { return sub_; }
  bool HasSub(uint32_t rank) const;

  // Returns the payload that a rank sends. It names the rank and the operation.
  std::string PayloadOf(uint32_t rank, const std::string& group, uint64_t sequence) const;
  // Returns the result that a rank gets.
  std::vector<std::string> Expected(uint32_t rank, const std::string& group,
                                    uint64_t sequence) const;

 private:
  const uint32_t size_;
  std::vector<uint32_t> sub_;
  std::map<std::string, std::vector<Op>> ops_;
};

}  // namespace muster::core

#endif  // MUSTER_TESTS_SERVER_CORE_RANDOM_RANDOM_PROGRAM_H_
