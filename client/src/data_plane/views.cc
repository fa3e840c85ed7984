#include "client/src/data_plane/views.h"

#include "absl/strings/str_cat.h"

namespace muster::internal {

absl::Status CheckView(absl::string_view operation, const TensorView& view) {
  absl::Status status;
  if (SizeOf(view.type) == 0) {
    status = absl::InvalidArgumentError(absl::StrCat("the tensor's type is ",
                                                     static_cast<int>(view.type),
                                                     ", expected one of DataType's values"));
  } else {
    status = CheckShape(view);
    status.Update(internal::CheckElements(view, view.type, SizeOf(view.type)));
  }
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(operation, ": ", status.message()));
}

absl::Status CheckViews(absl::string_view operation, const TensorView& in, const TensorView& out) {
  absl::Status status = CheckView(operation, in);
  status.Update(CheckView(operation, out));
  if (!status.ok() || in.type == out.type) return status;
  return absl::InvalidArgumentError(absl::StrCat(operation, ": in is ", DescribeTensor(in),
                                                 " and out is ", DescribeTensor(out),
                                                 ", expected the same type"));
}

}  // namespace muster::internal
