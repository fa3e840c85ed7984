#ifndef MUSTER_EXAMPLES_DIGITS_BATCHES_H_
#define MUSTER_EXAMPLES_DIGITS_BATCHES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace digits {

// The assignment of images to ranks. Only Share(), which divides a given list, depends on the world
// size. So every world size trains on the same batches.

// Returns the numbers 0 to count - 1 in this epoch's random order, the same on every rank.
std::vector<int> EpochOrder(int count, uint64_t seed, int epoch);

// Divides `order` into global batches of `size`; the last one may be smaller.
std::vector<absl::Span<const int>> Batches(absl::Span<const int> order, int size);

// Returns the part of `items` that belongs to `rank`. Parts are disjoint, cover `items`, and differ
// in size by at most one. A part is empty if there are more ranks than items.
template <class T>
absl::Span<const T> Share(absl::Span<const T> items, int rank, int world_size) {
  const size_t begin = items.size() * rank / world_size;
  const size_t end = items.size() * (rank + 1) / world_size;
  return items.subspan(begin, end - begin);
}

}  // namespace digits

#endif  // MUSTER_EXAMPLES_DIGITS_BATCHES_H_
