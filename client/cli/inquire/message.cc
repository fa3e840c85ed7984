#include "client/cli/inquire/message.h"

#include <iostream>

#include "absl/strings/str_cat.h"

namespace muster::cli {

void Say(absl::string_view text) { std::cerr << absl::StrCat("muster: ", text, "\n"); }

int Fail(int exit_status, absl::string_view text) {
  Say(text);
  return exit_status;
}

}  // namespace muster::cli
