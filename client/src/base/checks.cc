#include "client/src/base/checks.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/text/utf8.h"

namespace muster::internal {
absl::Status CheckText(absl::string_view what, absl::string_view name, size_t max_bytes) {
  if (name.size() > max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the ", what, " '", absl::CEscape(name.substr(0, 32)), "...' has ",
                     name.size(), " bytes; at most ", max_bytes, " are allowed"));
  }
  const size_t bad = FindUnprintable(name);
  if (bad == absl::string_view::npos) return absl::OkStatus();
  absl::string_view rest = name.substr(bad);
  return absl::InvalidArgumentError(
      absl::StrCat("the ", what, " '", absl::CEscape(name), "' has a ",
                   TakeCodePoint(&rest) ? "control character" : "byte that is not UTF-8",
                   " at position ", bad, "; expected printable text"));
}

absl::Status CheckName(absl::string_view what, absl::string_view name, size_t max_bytes) {
  if (name.empty()) return absl::InvalidArgumentError(absl::StrCat("the ", what, " is empty"));
  return CheckText(what, name, max_bytes);
}

absl::Status CheckTimeout(absl::string_view what, absl::Duration timeout) {
  if (timeout >= absl::ZeroDuration() && timeout < absl::InfiniteDuration()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(what, " is ", absl::FormatDuration(timeout),
                   "; expected a finite duration of 0s or more: every call has a deadline"));
}

}  // namespace muster::internal
