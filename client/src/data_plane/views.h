#ifndef MUSTER_CLIENT_SRC_DATA_PLANE_VIEWS_H_
#define MUSTER_CLIENT_SRC_DATA_PLANE_VIEWS_H_

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "client/src/data_plane/backend.h"
#include "muster/tensor.h"
#include "muster/tensor_operations.h"

namespace muster::internal {

// Returns the number of elements.
inline size_t CountOf(const TensorView& view) { return view.num_bytes / SizeOf(view.type); }

// Returns INVALID_ARGUMENT, with the operation's name, if the view has no type, a size that does
// not match its shape, or unaligned data.
absl::Status CheckView(absl::string_view operation, const TensorView& view);

// Checks the two views of one call, which must have the same type.
absl::Status CheckViews(absl::string_view operation, const TensorView& in, const TensorView& out);

// Returns the areas that an operation on two views of one type reads and writes.
inline InOut InOutOf(const TensorView& in, const MutableTensorView& out) {
  return {in.data, CountOf(in), out.data, CountOf(out), in.type};
}

// The messages of one SendRecv.
struct Messages {
  std::vector<Message> sends;
  std::vector<Message> receives;
};
// Converts views to messages. Errors: as CheckView().
absl::StatusOr<Messages> MessagesOf(absl::Span<const OutgoingTensor> sends,
                                    absl::Span<const IncomingTensor> receives);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_DATA_PLANE_VIEWS_H_
