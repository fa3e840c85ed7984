#ifndef MUSTER_CLIENT_SRC_ENVIRONMENT_VARIABLES_H_
#define MUSTER_CLIENT_SRC_ENVIRONMENT_VARIABLES_H_

#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::internal {

// Environment variables by name.
using Variables = std::map<std::string, std::string>;

// Those of this process.
Variables ProcessVariables();

// As common/workload.h asks for them; `variables` must outlive it.
inline auto Getter(const Variables& variables) {
  return [&variables](const char* name) -> const char* {
    const auto it = variables.find(name);
    return it == variables.end() ? nullptr : it->second.c_str();
  };
}

// `muster run` and muster::Launch say everything that is to be said, and leave the rank and the
// world size out where the coordinator is to decide them. What stands around them is not theirs.
inline bool StartedByMuster(const Variables& variables) {
  return variables.count("MUSTER_PROCESS_SECRET") > 0;
}

// Reads variables one after another and keeps the first error: INVALID_ARGUMENT, which names the
// variable, what it holds and what was expected. An unset variable leaves `out` as it is.
class VariableReader {
 public:
  // `variables` must outlive the reader.
  explicit VariableReader(const Variables& variables) : variables_(variables) {}

  bool IsSet(const std::string& variable) const { return variables_.count(variable) > 0; }

  void Read(const std::string& variable, absl::string_view expected, std::string* out);
  // A whole number of at least `least`.
  void Read(const std::string& variable, int least, absl::string_view expected,
            std::optional<int>* out);
  // 0 or 1.
  void Read(const std::string& variable, bool* out);
  // A positive, finite duration.
  void Read(const std::string& variable, absl::Duration* out);

  const absl::Status& status() const { return status_; }

 private:
  const std::string* Find(const std::string& variable) const;

  const Variables& variables_;
  absl::Status status_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_ENVIRONMENT_VARIABLES_H_
