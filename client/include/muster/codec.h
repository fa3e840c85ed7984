#ifndef MUSTER_CODEC_H_
#define MUSTER_CODEC_H_

#include "muster/cxx17.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

// The types that collectives carry, and how a program adds its own:
//
//   template <>
//   struct muster::Codec<Thing> {
//     static std::string TypeName() { return "Thing"; }  // the same on all ranks
//     static void Append(const Thing& thing, std::string* out) {
//       Codec<std::string>::Append(thing.name, out);
//     }
//     static absl::StatusOr<Thing> Read(absl::string_view* in) {  // consumes what it reads
//       absl::StatusOr<std::string> name = Codec<std::string>::Read(in);
//       if (!name.ok()) return name.status();
//       return Thing{*name};
//     }
//   };
namespace muster {

// Encodes values as the bytes that a collective carries, and decodes them. Specialized here for
// std::string, arithmetic types, enums, trivially copyable structs, and std::vector of these types,
// also nested; in muster/protobuf.h for protobuf messages. A struct must not contain pointers,
// which the compiler cannot check. Values travel in the memory layout of little-endian machines:
// all ranks of a job run the same program.
template <class T, class Enable = void>
struct Codec {
  static_assert(
      sizeof(T) == 0,
      "Muster cannot send this type: pass the value itself, not a pointer to it or a view "
      "of it, or specialize muster::Codec for it; see muster/codec.h");
};

namespace internal {
absl::Status TruncatedValue(absl::string_view type, size_t want, size_t have);
void AppendLength(size_t length, std::string* out);
absl::StatusOr<size_t> ReadLength(absl::string_view* in, absl::string_view type);
std::string ArithmeticTypeName(bool is_float, bool is_signed, size_t size);
}  // namespace internal

template <>
struct Codec<std::string> {
  static std::string TypeName() { return "string"; }
  static void Append(const std::string& value, std::string* out) {
    internal::AppendLength(value.size(), out);
    out->append(value);
  }
  static absl::StatusOr<std::string> Read(absl::string_view* in) {
    absl::StatusOr<size_t> length = internal::ReadLength(in, "string");
    if (!length.ok()) return length.status();
    std::string value(in->substr(0, *length));
    in->remove_prefix(*length);
    return value;
  }
};

namespace internal {
template <class T>
inline constexpr bool kIsSpan = false;
template <class T>
inline constexpr bool kIsSpan<absl::Span<T>> = true;

// Whether the bytes of a T are its value. False for pointers, views and arrays, which no function
// can return. A pointer inside a struct is not detected.
template <class T>
inline constexpr bool kIsPlainData =
    std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !std::is_member_pointer_v<T> &&
    !std::is_array_v<T> && !kIsSpan<T> && !std::is_convertible_v<const T&, absl::string_view>;

// Whether a T is a text, which collectives return as a std::string: "hello", a const char*, a
// string_view.
template <class T>
inline constexpr bool kIsText =
    std::is_same_v<std::decay_t<T>, const char*> || std::is_same_v<std::decay_t<T>, char*> ||
    std::is_same_v<T, absl::string_view> || std::is_same_v<T, std::string_view>;

// The type that a collective returns for a value of type T: T, or std::string for a text.
template <class T>
struct ReturnedType {
  static_assert(
      kIsText<T> || !std::is_array_v<T>,
      "a collective cannot return an array: pass absl::MakeSpan(array), which Broadcast() "
      "and AllReduce() change in place and Gather() and AllGather() fill, or a "
      "std::vector");
  using Type = std::conditional_t<kIsText<T>, std::string, std::remove_all_extents_t<T>>;
};
template <class T>
using Returned = typename ReturnedType<T>::Type;

// Returns `value` as that type. Copies only texts.
template <class T>
std::conditional_t<kIsText<T>, std::string, const T&> AsReturned(const T& value) {
  if constexpr (kIsText<T>) {
    return std::string(value);
  } else {
    return value;
  }
}
}  // namespace internal

template <class T>
struct Codec<T, std::enable_if_t<internal::kIsPlainData<T>>> {
  static std::string TypeName() {
    if constexpr (std::is_arithmetic_v<T>) {
      return internal::ArithmeticTypeName(std::is_floating_point_v<T>, std::is_signed_v<T>,
                                          sizeof(T));
    } else {
      return absl::StrCat(std::is_enum_v<T> ? "enum" : "struct", " of ", sizeof(T), " bytes");
    }
  }
  static void Append(const T& value, std::string* out) {
    out->append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  static absl::StatusOr<T> Read(absl::string_view* in) {
    if (in->size() < sizeof(T)) return internal::TruncatedValue(TypeName(), sizeof(T), in->size());
    T value;
    std::memcpy(&value, in->data(), sizeof(T));
    in->remove_prefix(sizeof(T));
    return value;
  }
};

template <class T>
struct Codec<std::vector<T>> {
  static std::string TypeName() { return absl::StrCat("vector<", Codec<T>::TypeName(), ">"); }
  static void Append(const std::vector<T>& values, std::string* out) {
    internal::AppendLength(values.size(), out);
    for (const T& value : values) Codec<T>::Append(value, out);
  }
  static absl::StatusOr<std::vector<T>> Read(absl::string_view* in) {
    // Every element takes at least a byte, so ReadLength() rejects a length that the input cannot
    // hold.
    absl::StatusOr<size_t> length = internal::ReadLength(in, TypeName());
    if (!length.ok()) return length.status();
    std::vector<T> values;
    values.reserve(*length);
    for (size_t i = 0; i < *length; ++i) {
      absl::StatusOr<T> value = Codec<T>::Read(in);
      if (!value.ok()) return value.status();
      values.push_back(*std::move(value));
    }
    return values;
  }
};

// Returns the bytes of `value`.
template <class T>
std::string Encode(const T& value) {
  std::string bytes;
  Codec<T>::Append(value, &bytes);
  return bytes;
}

// Returns the value that `bytes` encode. INVALID_ARGUMENT: too few or too many bytes for a T.
template <class T>
absl::StatusOr<T> Decode(absl::string_view bytes) {
  absl::string_view rest = bytes;
  absl::StatusOr<T> value = Codec<T>::Read(&rest);
  if (value.ok() && !rest.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("a ", Codec<T>::TypeName(), " ends ",
                                                   rest.size(), " bytes before its message does"));
  }
  return value;
}

}  // namespace muster

#endif  // MUSTER_CODEC_H_
