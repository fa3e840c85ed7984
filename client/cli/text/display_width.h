#ifndef MUSTER_CLIENT_CLI_TEXT_DISPLAY_WIDTH_H_
#define MUSTER_CLIENT_CLI_TEXT_DISPLAY_WIDTH_H_

#include "absl/strings/string_view.h"

namespace muster::cli {

// Returns how many terminal columns `text` takes. Wide East Asian characters and emoji take two,
// combining marks none.
int DisplayWidth(absl::string_view text);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_TEXT_DISPLAY_WIDTH_H_
