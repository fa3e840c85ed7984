#ifndef MUSTER_SERVER_CORE_SUPPORT_BOUNDED_TEXT_H_
#define MUSTER_SERVER_CORE_SUPPORT_BOUNDED_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

// Bounds on texts that go to many readers. A cut falls between UTF-8 characters, and "..." replaces
// what is cut off.
namespace muster::core {

// Returns the text, or at most `max_bytes` of it followed by "...".
std::string Shortened(absl::string_view text, size_t max_bytes);

// Returns the text, or as much of it as takes `max_bytes` in an error, "..." included. gRPC sends
// each byte of an error's text that is not printable ASCII as three bytes.
std::string ShortenedForMetadata(std::string text, size_t max_bytes);

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_SUPPORT_BOUNDED_TEXT_H_
