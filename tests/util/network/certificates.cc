#include "tests/util/network/certificates.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <cstdio>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace muster::testing {
namespace {

constexpr long kVersion3 = 2;
constexpr long kHour = 3600;

std::string Text(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  const std::string text(data, size);
  BIO_free(bio);
  return text;
}

std::string PemOf(X509* certificate) {
  BIO* const bio = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(bio, certificate);
  return Text(bio);
}

std::string PemOf(EVP_PKEY* key) {
  BIO* const bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  return Text(bio);
}

void Extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

// Returns a certificate that is valid from an hour ago.
X509* NewCertificate(EVP_PKEY* key, const std::string& name, long seconds_left) {
  X509* const certificate = X509_new();
  X509_set_version(certificate, kVersion3);
  uint64_t serial = 0;
  RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof(serial));
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial >> 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -kHour);
  X509_gmtime_adj(X509_getm_notAfter(certificate), seconds_left);
  X509_set_pubkey(certificate, key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  return certificate;
}

}  // namespace

struct CertificateAuthority::Secret {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = nullptr;
};

CertificateAuthority::CertificateAuthority() : secret_(new Secret()) {
  uint64_t number = 0;
  RAND_bytes(reinterpret_cast<unsigned char*>(&number), sizeof(number));
  X509* const own =
      NewCertificate(secret_->key, absl::StrCat("authority ", absl::Hex(number)), 24 * kHour);
  X509_set_issuer_name(own, X509_get_subject_name(own));
  Extend(own, own, NID_basic_constraints, "critical,CA:TRUE");
  Extend(own, own, NID_key_usage, "critical,keyCertSign");
  X509_sign(own, secret_->key, EVP_sha256());
  secret_->certificate = own;
  certificate_ = {PemOf(own), PemOf(secret_->key)};
}

CertificateAuthority::~CertificateAuthority() {
  X509_free(secret_->certificate);
  EVP_PKEY_free(secret_->key);
}

Certificate CertificateAuthority::Issue(const std::string& names, absl::Duration left) const {
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  X509* const certificate =
      NewCertificate(key, "muster test", static_cast<long>(absl::ToInt64Seconds(left)));
  X509_set_issuer_name(certificate, X509_get_subject_name(secret_->certificate));
  Extend(certificate, secret_->certificate, NID_subject_alt_name, names);
  Extend(certificate, secret_->certificate, NID_ext_key_usage, "serverAuth,clientAuth");
  X509_sign(certificate, secret_->key, EVP_sha256());
  const Certificate issued = {PemOf(certificate), PemOf(key)};
  X509_free(certificate);
  EVP_PKEY_free(key);
  return issued;
}

void ReplaceFile(const std::string& path, const std::string& contents, int mode) {
  const std::string temporary = absl::StrCat(path, ".new");
  std::ofstream(temporary) << contents;
  chmod(temporary.c_str(), static_cast<mode_t>(mode));
  rename(temporary.c_str(), path.c_str());
}

}  // namespace muster::testing
