#ifndef MUSTER_SERVER_CORE_BOUNDED_TEXT_H_
#define MUSTER_SERVER_CORE_BOUNDED_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

// Texts that everybody is told. What is cut off is whole UTF-8 characters, and "..." stands for it.
namespace muster::core {

// At most `max_bytes` of the text, and then "...".
std::string Shortened(absl::string_view text, size_t max_bytes);

// As much of the text, "..." included, as is sent as `max_bytes` of an error's text: gRPC sends the
// bytes that are not printable ASCII as three.
std::string ShortenedForMetadata(std::string text, size_t max_bytes);

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_BOUNDED_TEXT_H_
