#ifndef MUSTER_CLIENT_SRC_DATA_PLANE_VIEWS_H_
#define MUSTER_CLIENT_SRC_DATA_PLANE_VIEWS_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "muster/tensor.h"

namespace muster::internal {

// Elements.
inline size_t CountOf(const TensorView& view) { return view.num_bytes / SizeOf(view.type); }

// OK, or INVALID_ARGUMENT with the operation's name: no type, another size than that of its shape,
// or not aligned.
absl::Status CheckView(absl::string_view operation, const TensorView& view);

// The same of the two views of one call, which are of one type.
absl::Status CheckViews(absl::string_view operation, const TensorView& in, const TensorView& out);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_DATA_PLANE_VIEWS_H_
