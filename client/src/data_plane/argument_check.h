#ifndef MUSTER_CLIENT_SRC_DATA_PLANE_ARGUMENT_CHECK_H_
#define MUSTER_CLIENT_SRC_DATA_PLANE_ARGUMENT_CHECK_H_

#include <cstddef>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "client/src/data_plane/backend.h"
#include "muster/communicator.h"

namespace muster::internal {

// Checks of the arguments of one call on a communicator, before anything is sent. Each returns OK,
// or INVALID_ARGUMENT with the operation, the calling rank, what was passed and what was expected.
// Counts are in elements.
class ArgumentCheck {
 public:
  ArgumentCheck(absl::string_view operation, int rank, int size)
      : operation_(operation), rank_(rank), size_(size) {}

  absl::Status SameSize(size_t in_count, size_t out_count) const;
  // Checks that `whole` has one part of `part` elements for each rank.
  absl::Status Parts(absl::string_view whole_name, size_t whole, absl::string_view part_name,
                     size_t part) const;
  absl::Status Root(int root) const;
  absl::Status Peer(int peer) const;
  // Checks that `op` exists, and can reduce elements of `type`.
  absl::Status Op(ReduceOp op, DataType type) const;
  absl::Status Timeout(const std::optional<absl::Duration>& timeout) const;
  // Checks the element counts of the parts, one for each rank: `in` is this rank's count, and `out`
  // is the sum.
  absl::Status Counts(absl::Span<const size_t> counts, size_t in, size_t out) const;
  // Checks that both peers are other ranks, or both are this rank and `in` equals `out`.
  absl::Status Exchange(int to, size_t out, int from, size_t in) const;
  // Checks that the peers are other ranks, and that received data overlaps with no other data.
  absl::Status Messages(absl::Span<const Message> sends, absl::Span<const Message> receives) const;
  absl::Status Disjoint(const void* a, size_t a_bytes, const void* b, size_t b_bytes) const;
  // Checks that the two areas are disjoint, or that `b` is in place: it begins `offset` bytes into
  // `a`.
  absl::Status Overlap(const void* a, size_t a_bytes, const void* b, size_t b_bytes,
                       size_t offset) const;
  // Returns FAILED_PRECONDITION inside a scope of muster/scopes.h in which this thread does not
  // wait for other ranks, because the call needs them to connect to.
  absl::Status NotAlone(const Group& group) const;

 private:
  template <class... Pieces>
  absl::Status Refuse(const Pieces&... pieces) const;

  absl::string_view operation_;
  int rank_;
  int size_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_DATA_PLANE_ARGUMENT_CHECK_H_
