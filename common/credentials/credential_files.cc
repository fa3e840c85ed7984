#include "common/credentials/credential_files.h"

namespace muster {

absl::Status CheckCredentialFields(const CredentialFiles& files) {
  if (files.tls_cert.empty() != files.tls_key.empty()) {
    return absl::InvalidArgumentError(
        "tls_cert (MUSTER_TLS_CERT) and tls_key (MUSTER_TLS_KEY) belong together, and only one of "
        "them is given; give both");
  }
  const bool needs_authority = !files.tls_cert.empty() || !files.tls_server_name.empty();
  if (!needs_authority || !files.tls_ca.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "tls_cert and tls_server_name (MUSTER_TLS_CERT, MUSTER_TLS_SERVER_NAME) need tls_ca "
      "(MUSTER_TLS_CA): the authority of the coordinator's certificate; without it there is no "
      "TLS");
}

}  // namespace muster
