#include "examples/digits/batches.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace digits {

std::vector<int> EpochOrder(int count, uint64_t seed, int epoch) {
  std::vector<int> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::seed_seq mixed{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32),
                      static_cast<uint32_t>(epoch)};
  std::shuffle(order.begin(), order.end(), std::mt19937_64(mixed));
  return order;
}

std::vector<absl::Span<const int>> Batches(absl::Span<const int> order, int size) {
  std::vector<absl::Span<const int>> batches;
  for (size_t begin = 0; begin < order.size(); begin += size) {
    batches.push_back(order.subspan(begin, size));
  }
  return batches;
}

}  // namespace digits
