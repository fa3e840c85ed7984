#include "common/credentials/tls_files.h"

#include <grpcpp/security/tls_certificate_provider.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace muster {
namespace {

constexpr unsigned kRefreshSeconds = 10;

template <typename T, void (*Free)(T*)>
struct Deleter {
  void operator()(T* object) const { Free(object); }
};
using Certificate = std::unique_ptr<X509, Deleter<X509, X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY, EVP_PKEY_free>>;
using File = std::unique_ptr<BIO, Deleter<BIO, BIO_free_all>>;

absl::Status FileError(absl::string_view what, const std::string& path, absl::string_view why) {
  ERR_clear_error();
  return absl::InvalidArgumentError(absl::StrCat("the ", what, " file '", path, "' ", why));
}

absl::Status OpenFile(absl::string_view what, const std::string& path, File* file) {
  errno = 0;
  file->reset(BIO_new_file(path.c_str(), "r"));
  if (*file != nullptr) return absl::OkStatus();
  return FileError(what, path, absl::StrCat("cannot be read: ", strerror(errno)));
}

// Prevents OpenSSL from asking on the terminal.
int NoPassPhrase(char*, int, int, void*) { return 0; }

// Reads the first certificate of a file, which is the relevant one.
absl::Status ReadCertificate(absl::string_view what, const std::string& path, Certificate* out) {
  File file;
  if (absl::Status s = OpenFile(what, path, &file); !s.ok()) return s;
  out->reset(PEM_read_bio_X509(file.get(), nullptr, NoPassPhrase, nullptr));
  if (*out != nullptr) return absl::OkStatus();
  return FileError(what, path, "holds no certificate; expected PEM (-----BEGIN CERTIFICATE-----)");
}

absl::Status CheckOwnCertificate(const TlsFiles& files) {
  Certificate certificate;
  if (absl::Status s = ReadCertificate("certificate", files.cert, &certificate); !s.ok()) return s;
  if (X509_cmp_current_time(X509_get0_notAfter(certificate.get())) < 0) {
    return FileError("certificate", files.cert,
                     "has expired; put a new certificate and key in place");
  }
  File file;
  if (absl::Status s = OpenFile("key", files.key, &file); !s.ok()) return s;
  const Key key(PEM_read_bio_PrivateKey(file.get(), nullptr, NoPassPhrase, nullptr));
  if (key == nullptr) {
    return FileError("key", files.key,
                     "holds no private key that can be read; expected PEM, without a pass phrase");
  }
  if (X509_check_private_key(certificate.get(), key.get()) == 1) return absl::OkStatus();
  return FileError("key", files.key,
                   absl::StrCat("is not the key of the certificate in '", files.cert,
                                "'; give a certificate and key that were made together"));
}

}  // namespace

absl::Status CheckTlsFiles(const TlsFiles& files) {
  if (files.cert.empty() != files.key.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a TLS certificate needs its key, and a key its certificate; only '",
                     files.cert.empty() ? files.key : files.cert, "' was given"));
  }
  if (!files.cert.empty()) {
    if (absl::Status s = CheckOwnCertificate(files); !s.ok()) return s;
  }
  Certificate authority;
  if (files.ca.empty()) return absl::OkStatus();
  return ReadCertificate("certificate authority", files.ca, &authority);
}

std::shared_ptr<grpc::experimental::CertificateProviderInterface> WatchTlsFiles(
    const TlsFiles& files) {
  return std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
      files.key, files.cert, files.ca, kRefreshSeconds);
}

}  // namespace muster
