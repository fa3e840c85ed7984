#ifndef MUSTER_TESTS_UTIL_NETWORK_CERTIFICATES_H_
#define MUSTER_TESTS_UTIL_NETWORK_CERTIFICATES_H_

#include <memory>
#include <string>

#include "absl/time/time.h"

// Certificates for tests, made at run time.
namespace muster::testing {

// A certificate and its key, as PEM.
struct Certificate {
  std::string pem;
  std::string key;
};

class CertificateAuthority {
 public:
  CertificateAuthority();
  ~CertificateAuthority();

  const std::string& pem() const { return certificate_.pem; }

  // Returns a certificate for both ends of TLS that is valid from an hour ago until `left` from
  // now. `names` has the form "DNS:head,IP:127.0.0.1".
  Certificate Issue(const std::string& names = "DNS:localhost,IP:127.0.0.1",
                    absl::Duration left = absl::Hours(1)) const;

 private:
  struct Secret;
  std::unique_ptr<Secret> secret_;
  Certificate certificate_;
};

// Replaces a file atomically: readers see the old or the new content. `mode` as for chmod(1).
void ReplaceFile(const std::string& path, const std::string& contents, int mode = 0600);

}  // namespace muster::testing

#endif  // MUSTER_TESTS_UTIL_NETWORK_CERTIFICATES_H_
