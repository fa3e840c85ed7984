// Replacements of OpenSSL's SSL_read() and SSL_write(), which show the plaintext of TLS connections
// to their guards. The plaintext exists only after SSL_read() and before SSL_write(). The linker
// binds gRPC's calls to these functions, as it does for recvmsg() and sendmsg().
#include <dlfcn.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <memory>

#include "server/daemon/guards/connections.h"

#ifdef MUSTER_STATIC_LINK
// In a program that contains OpenSSL, the linker renames OpenSSL's functions (--wrap).
extern "C" int __real_SSL_read(SSL* ssl, void* buffer, int size);
extern "C" int __real_SSL_write(SSL* ssl, const void* buffer, int size);
#define GUARDED_SSL_READ __wrap_SSL_read
#define GUARDED_SSL_WRITE __wrap_SSL_write
#else
#define GUARDED_SSL_READ SSL_read
#define GUARDED_SSL_WRITE SSL_write
#endif

namespace muster::daemon {
namespace {

int ReadPlain(SSL* ssl, void* buffer, int size) {
#ifdef MUSTER_STATIC_LINK
  return __real_SSL_read(ssl, buffer, size);
#else
  static const auto read = reinterpret_cast<decltype(&SSL_read)>(dlsym(RTLD_NEXT, "SSL_read"));
  return read(ssl, buffer, size);
#endif
}

int WritePlain(SSL* ssl, const void* buffer, int size) {
#ifdef MUSTER_STATIC_LINK
  return __real_SSL_write(ssl, buffer, size);
#else
  static const auto write = reinterpret_cast<decltype(&SSL_write)>(dlsym(RTLD_NEXT, "SSL_write"));
  return write(ssl, buffer, size);
#endif
}

using ConnectionRef = std::shared_ptr<Connection>;

void Free(void*, void* held, CRYPTO_EX_DATA*, int, long, void*) {
  delete static_cast<ConnectionRef*>(held);
}

std::shared_ptr<Connection> FindByClientRandom(const SSL* ssl) {
  unsigned char random[ClientHello::kRandomBytes];
  const size_t size = SSL_get_client_random(ssl, random, sizeof(random));
  return AllConnections().TakeByClientRandom({reinterpret_cast<const char*>(random), size});
}

// Returns the connection of a session, or null if there is none. gRPC hands bytes to OpenSSL, which
// knows no sockets. So the connection is found by the client's random bytes, and then kept with the
// session.
Connection* ConnectionOf(SSL* ssl) {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, Free);
  if (void* const known = SSL_get_ex_data(ssl, index))
    return static_cast<ConnectionRef*>(known)->get();
  auto held = std::make_unique<ConnectionRef>(FindByClientRandom(ssl));
  if (*held == nullptr || SSL_set_ex_data(ssl, index, held.get()) != 1) return nullptr;
  return held.release()->get();
}

bool Admits(Connection* connection, absl::string_view bytes) {
  if (connection == nullptr) return false;
  const PeerGuard::Result result = connection->guard.Received(bytes);
  WarnOfPeer(*connection, result);
  return result == PeerGuard::Result::kOk;
}

}  // namespace
}  // namespace muster::daemon

extern "C" int GUARDED_SSL_READ(SSL* ssl, void* buffer, int size) {
  const int got = muster::daemon::ReadPlain(ssl, buffer, size);
  if (got <= 0 || SSL_is_server(ssl) != 1) return got;
  if (muster::daemon::Admits(muster::daemon::ConnectionOf(ssl),
                             {static_cast<const char*>(buffer), static_cast<size_t>(got)})) {
    return got;
  }
  ERR_raise(ERR_LIB_SSL, SSL_R_EXCESSIVE_MESSAGE_SIZE);  // gRPC reads the error queue
  return -1;
}

extern "C" int GUARDED_SSL_WRITE(SSL* ssl, const void* buffer, int size) {
  const int put = muster::daemon::WritePlain(ssl, buffer, size);
  if (put <= 0 || SSL_is_server(ssl) != 1) return put;
  if (!muster::daemon::AllConnections().any_unadmitted()) return put;
  if (muster::daemon::Connection* const connection = muster::daemon::ConnectionOf(ssl)) {
    connection->guard.Sent({static_cast<const char*>(buffer), static_cast<size_t>(put)});
  }
  return put;
}
