#ifndef MUSTER_PROTOBUF_H_
#define MUSTER_PROTOBUF_H_

// Protobuf messages as values of collectives:
//
//   absl::StatusOr<google::protobuf::StringValue> name = job.Broadcast(message);
//
// Include it in programs that link protobuf. No other header of the SDK needs protobuf.

#include "muster/cxx17.h"

#include <string>
#include <type_traits>

#include "google/protobuf/message_lite.h"
#include "muster/codec.h"

namespace muster {

template <class T>
struct Codec<T, std::enable_if_t<std::is_base_of_v<google::protobuf::MessageLite, T>>> {
  static std::string TypeName() { return T().GetTypeName(); }
  static void Append(const T& message, std::string* out) {
    internal::AppendLength(message.ByteSizeLong(), out);
    message.AppendToString(out);
  }
  static absl::StatusOr<T> Read(absl::string_view* in) {
    absl::StatusOr<size_t> length = internal::ReadLength(in, TypeName());
    if (!length.ok()) return length.status();
    T message;
    if (!message.ParseFromArray(in->data(), static_cast<int>(*length))) {
      return absl::InvalidArgumentError(absl::StrCat("bytes do not parse as a ", TypeName()));
    }
    in->remove_prefix(*length);
    return message;
  }
};

}  // namespace muster

#endif  // MUSTER_PROTOBUF_H_
