#ifndef MUSTER_COMMON_TLS_FILES_H_
#define MUSTER_COMMON_TLS_FILES_H_

#include <memory>
#include <string>

#include "absl/status/status.h"

namespace grpc::experimental {
class CertificateProviderInterface;
}

namespace muster {

// The files that one side of TLS reads, all PEM; empty where it has none.
struct TlsFiles {
  std::string cert;  // its own certificate, and those between it and the authority
  std::string key;   // of the certificate; without a pass phrase
  std::string ca;    // authorities that the other side's certificate must come from
};

// Looks at the files before gRPC does, which would only say that no handshake succeeds.
// INVALID_ARGUMENT names the file that cannot be read, holds no certificate or key, has expired, or
// does not belong to the other one, and what to do.
absl::Status CheckTlsFiles(const TlsFiles& files);

// Hands gRPC what the files hold, and reads them again when they change: within ten seconds, for
// connections that begin then. Has a thread. What does not fit together is left alone until it
// does.
std::shared_ptr<grpc::experimental::CertificateProviderInterface> WatchTlsFiles(
    const TlsFiles& files);

}  // namespace muster

#endif  // MUSTER_COMMON_TLS_FILES_H_
