#include "client/launcher/coordinator/verdict_file.h"

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace muster::launcher {

absl::Time BeganAt(const muster::v1::Inquiry& inquiry) {
  return absl::FromUnixMicros(static_cast<int64_t>(inquiry.number()));
}

observe::File VerdictFile(absl::string_view text, const muster::v1::Inquiry& inquiry) {
  return {"verdict.txt", absl::StrCat(text, "\nkind: ", inquiry.kind(), "\nbegan: ",
                                      absl::FormatTime(BeganAt(inquiry), absl::UTCTimeZone()),
                                      "\nreason: ", inquiry.reason(), "\n")};
}

}  // namespace muster::launcher
