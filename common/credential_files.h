#ifndef MUSTER_COMMON_CREDENTIAL_FILES_H_
#define MUSTER_COMMON_CREDENTIAL_FILES_H_

#include <string>

#include "absl/status/status.h"

namespace muster {

// Where a process finds what it shows its coordinator. Empty: it has none.
struct CredentialFiles {
  std::string token_file;
  // TLS: the authority of the coordinator's certificate, and this process's own certificate and
  // key. Without an authority there is no TLS.
  std::string tls_ca;
  std::string tls_cert;
  std::string tls_key;
  // The name in the coordinator's certificate, where it is not the host of its address.
  std::string tls_server_name;
};

// The environment variables of the same.
inline constexpr char kTokenFileVariable[] = "MUSTER_TOKEN_FILE";
inline constexpr char kTlsCaVariable[] = "MUSTER_TLS_CA";
inline constexpr char kTlsCertVariable[] = "MUSTER_TLS_CERT";
inline constexpr char kTlsKeyVariable[] = "MUSTER_TLS_KEY";
inline constexpr char kTlsServerNameVariable[] = "MUSTER_TLS_SERVER_NAME";

// Each of them, with the flag of the command line.
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

// Whether they make sense together; reads none of them. INVALID_ARGUMENT names what is missing.
absl::Status CheckTogether(const CredentialFiles& files);

}  // namespace muster

#endif  // MUSTER_COMMON_CREDENTIAL_FILES_H_
