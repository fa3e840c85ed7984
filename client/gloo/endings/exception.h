#ifndef MUSTER_CLIENT_GLOO_ENDINGS_EXCEPTION_H_
#define MUSTER_CLIENT_GLOO_ENDINGS_EXCEPTION_H_

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace muster::internal {

// An exception that a collective throws when one of its waits was interrupted.
class Interrupted : public std::runtime_error {
 public:
  explicit Interrupted(std::vector<int> awaited)
      : std::runtime_error("interrupted"), awaited_(std::move(awaited)) {}
  // Returns the ranks that the wait was for.
  const std::vector<int>& awaited() const { return awaited_; }

 private:
  std::vector<int> awaited_;
};

// Returns the text of a Gloo exception without its leading "[source file:line] ".
inline std::string ReasonOf(const std::exception& error) {
  const std::string text = error.what();
  const size_t end = text.find("] ");
  return !text.empty() && text[0] == '[' && end != std::string::npos ? text.substr(end + 2) : text;
}

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_ENDINGS_EXCEPTION_H_
