#ifndef MUSTER_COMMON_CREDENTIALS_TLS_FILES_H_
#define MUSTER_COMMON_CREDENTIALS_TLS_FILES_H_

#include <memory>
#include <string>

#include "absl/status/status.h"

namespace grpc::experimental {
class CertificateProviderInterface;
}

namespace muster {

// The files of one side of TLS, all PEM; an empty path means none.
struct TlsFiles {
  std::string cert;  // its own certificate, and the chain up to the authority
  std::string key;   // the certificate's key, without a pass phrase
  std::string ca;    // authorities for the other side's certificate
};

// Checks the files before gRPC reads them, since gRPC would only report that no handshake succeeds.
// INVALID_ARGUMENT names the file that cannot be read, has no certificate or key, has expired or
// does not belong to the other file, and says what to do.
absl::Status CheckTlsFiles(const TlsFiles& files);

// Returns a provider that reads the files for gRPC. A thread reads them again within ten seconds of
// a change; new connections then use them. Ignores files that do not fit together until they do.
std::shared_ptr<grpc::experimental::CertificateProviderInterface> WatchTlsFiles(
    const TlsFiles& files);

}  // namespace muster

#endif  // MUSTER_COMMON_CREDENTIALS_TLS_FILES_H_
