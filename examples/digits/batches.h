#ifndef MUSTER_EXAMPLES_DIGITS_BATCHES_H_
#define MUSTER_EXAMPLES_DIGITS_BATCHES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace digits {

// Who works on what. None of it depends on the world size except Share(), which deals a given list
// out: so every world size trains on the same batches.

// The numbers 0 to count - 1 in this epoch's random order; the same on every rank.
std::vector<int> EpochOrder(int count, uint64_t seed, int epoch);

// The global batches that `order` falls into, each of `size` but perhaps the last.
std::vector<absl::Span<const int>> Batches(absl::Span<const int> order, int size);

// The part of `items` that is `rank`'s: parts are disjoint, cover `items`, and differ in size by
// one at most. Empty where there are more ranks than items.
template <class T>
absl::Span<const T> Share(absl::Span<const T> items, int rank, int world_size) {
  const size_t begin = items.size() * rank / world_size;
  const size_t end = items.size() * (rank + 1) / world_size;
  return items.subspan(begin, end - begin);
}

}  // namespace digits

#endif  // MUSTER_EXAMPLES_DIGITS_BATCHES_H_
