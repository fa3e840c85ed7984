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

// Checks the arguments of one call on a communicator, before anything is sent. Each check returns
// OK, or INVALID_ARGUMENT with the operation, the calling rank, what was passed and what was
// expected. Counts are in elements.
class ArgumentCheck {
 public:
  ArgumentCheck(absl::string_view operation, int rank, int size)
      : operation_(operation), rank_(rank), size_(size) {}

  absl::Status SameSize(size_t in_count, size_t out_count) const;
  // `whole` holds one part of `part` elements for each rank.
  absl::Status Parts(absl::string_view whole_name, size_t whole, absl::string_view part_name,
                     size_t part) const;
  absl::Status Root(int root) const;
  absl::Status Peer(int peer) const;
  // `op` is for elements of `type`.
  absl::Status Op(ReduceOp op, DataType type) const;
  absl::Status Timeout(const std::optional<absl::Duration>& timeout) const;
  // Element counts of parts, one for each rank: `in` has as many as this rank's, `out` as all.
  absl::Status Counts(absl::Span<const size_t> counts, size_t in, size_t out) const;
  // Both are other ranks, or both this one, which then sends as much as it receives.
  absl::Status Exchange(int to, size_t out, int from, size_t in) const;
  // The peers are other ranks, and what is received is disjoint from all else.
  absl::Status Messages(absl::Span<const Message> sends, absl::Span<const Message> receives) const;
  absl::Status Disjoint(const void* a, size_t a_bytes, const void* b, size_t b_bytes) const;
  // The two areas are disjoint, or `b` begins `offset` bytes into `a`, where it may.
  absl::Status Overlap(const void* a, size_t a_bytes, const void* b, size_t b_bytes,
                       size_t offset) const;
  // FAILED_PRECONDITION where a scope of muster/scopes.h is open in which the call would have
  // nobody to connect to.
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
