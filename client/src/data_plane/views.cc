#include "client/src/data_plane/views.h"

#include "absl/strings/str_cat.h"
#include "client/src/base/error_note.h"

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
  return Reworded(status, absl::StrCat(operation, ": ", status.message()));
}

absl::Status CheckViews(absl::string_view operation, const TensorView& in, const TensorView& out) {
  absl::Status status = CheckView(operation, in);
  status.Update(CheckView(operation, out));
  if (!status.ok() || in.type == out.type) return status;
  return absl::InvalidArgumentError(absl::StrCat(operation, ": in is ", DescribeTensor(in),
                                                 " and out is ", DescribeTensor(out),
                                                 ", expected the same type"));
}

absl::StatusOr<Messages> MessagesOf(absl::Span<const OutgoingTensor> sends,
                                    absl::Span<const IncomingTensor> receives) {
  Messages messages;
  for (const OutgoingTensor& one : sends) {
    if (absl::Status status = CheckView("SendRecv", one.data); !status.ok()) return status;
    messages.sends.push_back(
        {const_cast<void*>(one.data.data), CountOf(one.data), one.data.type, one.to});
  }
  for (const IncomingTensor& one : receives) {
    if (absl::Status status = CheckView("SendRecv", one.data); !status.ok()) return status;
    messages.receives.push_back({one.data.data, CountOf(one.data), one.data.type, one.from});
  }
  return messages;
}

}  // namespace muster::internal
