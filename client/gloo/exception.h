#ifndef MUSTER_CLIENT_GLOO_EXCEPTION_H_
#define MUSTER_CLIENT_GLOO_EXCEPTION_H_

#include <exception>
#include <string>

namespace muster::internal {

// What a Gloo exception says, without the place in Gloo's source that it begins with.
inline std::string ReasonOf(const std::exception& error) {
  const std::string text = error.what();
  const size_t end = text.find("] ");
  return !text.empty() && text[0] == '[' && end != std::string::npos ? text.substr(end + 2) : text;
}

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_EXCEPTION_H_
