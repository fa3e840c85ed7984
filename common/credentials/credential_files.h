#ifndef MUSTER_COMMON_CREDENTIALS_CREDENTIAL_FILES_H_
#define MUSTER_COMMON_CREDENTIALS_CREDENTIAL_FILES_H_

#include <string>

#include "absl/status/status.h"

namespace muster {

// The files that hold a process's credentials for its coordinator. An empty path means none.
struct CredentialFiles {
  std::string token_file;
  // For TLS: the authority of the coordinator's certificate, and this process's own certificate and
  // key. Without an authority there is no TLS.
  std::string tls_ca;
  std::string tls_cert;
  std::string tls_key;
  // The name in the coordinator's certificate, if it differs from the host of the address.
  std::string tls_server_name;
};

// The environment variables of these fields.
inline constexpr char kTokenFileVariable[] = "MUSTER_TOKEN_FILE";
inline constexpr char kTlsCaVariable[] = "MUSTER_TLS_CA";
inline constexpr char kTlsCertVariable[] = "MUSTER_TLS_CERT";
inline constexpr char kTlsKeyVariable[] = "MUSTER_TLS_KEY";
inline constexpr char kTlsServerNameVariable[] = "MUSTER_TLS_SERVER_NAME";

// A field with its environment variable and its command-line flag.
struct CredentialField {
  std::string CredentialFiles::*value;
  const char* variable;
  const char* flag;
};
inline constexpr CredentialField kCredentialFields[] = {
    {&CredentialFiles::token_file, kTokenFileVariable, "--token-file"},
    {&CredentialFiles::tls_ca, kTlsCaVariable, "--tls-ca"},
    {&CredentialFiles::tls_cert, kTlsCertVariable, "--tls-cert"},
    {&CredentialFiles::tls_key, kTlsKeyVariable, "--tls-key"},
    {&CredentialFiles::tls_server_name, kTlsServerNameVariable, "--tls-server-name"}};

// Checks that the fields fit together, without reading a file. INVALID_ARGUMENT names the missing
// field.
absl::Status CheckCredentialFields(const CredentialFiles& files);

}  // namespace muster

#endif  // MUSTER_COMMON_CREDENTIALS_CREDENTIAL_FILES_H_
