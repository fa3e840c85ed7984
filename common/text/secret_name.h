#ifndef MUSTER_COMMON_TEXT_SECRET_NAME_H_
#define MUSTER_COMMON_TEXT_SECRET_NAME_H_

#include "absl/strings/string_view.h"

namespace muster {

// Returns whether something of this name (a variable, an option, a parameter of a signed address)
// may be a secret. Matches, in any case: AWS_*, *TOKEN* (but not *TOKENIZ*), *KEY*, *SECRET*,
// *PASSWORD*, *PASSWD*, *PASSPHRASE*, *CREDENTIAL*, *AUTHORIZATION*, *COOKIE*, *SIGNATURE*, *JWT*,
// and AUTH, PASS, PWD or SIG between '_', '-' or '.'.
bool IsSecretName(absl::string_view name);

}  // namespace muster

#endif  // MUSTER_COMMON_TEXT_SECRET_NAME_H_
