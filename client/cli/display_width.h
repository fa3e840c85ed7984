#ifndef MUSTER_CLIENT_CLI_DISPLAY_WIDTH_H_
#define MUSTER_CLIENT_CLI_DISPLAY_WIDTH_H_

#include "absl/strings/string_view.h"

namespace muster::cli {

// Number of terminal columns that `text` takes: wide East Asian characters and emoji two, combining
// marks none.
int DisplayWidth(absl::string_view text);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_DISPLAY_WIDTH_H_
