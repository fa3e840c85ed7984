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

// Returns the variables of this process.
Variables ProcessVariables();

// Returns a function that looks up variables, as common/process/cluster_variables.h needs it.
// `variables` must outlive it.
inline auto Getter(const Variables& variables) {
  return [&variables](const char* name) -> const char* {
    const auto it = variables.find(name);
    return it == variables.end() ? nullptr : it->second.c_str();
  };
}

// Returns whether `muster run` or muster::Launch started this process. They set every variable that
// matters, and leave out rank and world size if the coordinator assigns them. Other launchers'
// variables then do not count.
inline bool StartedByMuster(const Variables& variables) {
  return variables.count("MUSTER_PROCESS_SECRET") > 0;
}

// A reader of variables that keeps the first error: INVALID_ARGUMENT, naming the variable, its
// value and what was expected. If a variable is not set, Read() leaves `*out` unchanged.
class VariableReader {
 public:
  // `variables` must outlive the reader.
  explicit VariableReader(const Variables& variables) : variables_(variables) {}

  bool IsSet(const std::string& variable) const { return variables_.count(variable) > 0; }

  void Read(const std::string& variable, absl::string_view expected, std::string* out);
  // Reads a whole number of at least `least`.
  void Read(const std::string& variable, int least, absl::string_view expected,
            std::optional<int>* out);
  // Reads 0 or 1.
  void Read(const std::string& variable, bool* out);
  // Reads a positive, finite duration.
  void Read(const std::string& variable, absl::Duration* out);

  const absl::Status& status() const { return status_; }

 private:
  const std::string* Find(const std::string& variable) const;

  const Variables& variables_;
  absl::Status status_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_ENVIRONMENT_VARIABLES_H_
