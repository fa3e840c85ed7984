#ifndef MUSTER_COMMON_SECRET_NAME_H_
#define MUSTER_COMMON_SECRET_NAME_H_

#include "absl/strings/string_view.h"

namespace muster {

// Whether what has this name (a variable, an option) may be a secret: AWS_*, *TOKEN*, *KEY*,
// *SECRET*, *PASSWORD*, *PASSWD*, *PASSPHRASE*, *CREDENTIAL*, *AUTHORIZATION*, *JWT*, and AUTH
// between '_', '-' or '.', in whatever case.
bool IsSecretName(absl::string_view name);

}  // namespace muster

#endif  // MUSTER_COMMON_SECRET_NAME_H_
