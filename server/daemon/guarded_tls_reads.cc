// What comes over TLS is in plain behind OpenSSL's SSL_read() only. The linker puts this one in its
// place, as it does with recvmsg(): a HeaderGuard follows each connection here too.
#include <dlfcn.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <memory>

#include "server/daemon/guarded_reads.h"
#include "server/daemon/header_guard.h"

#ifdef MUSTER_STATIC_LINK
// A program that has OpenSSL in itself has the linker rename both (--wrap).
extern "C" int __real_SSL_read(SSL* ssl, void* buffer, int size);
#define GUARDED_SSL_READ __wrap_SSL_read
#else
#define GUARDED_SSL_READ SSL_read
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

void Free(void*, void* guard, CRYPTO_EX_DATA*, int, long, void*) {
  delete static_cast<HeaderGuard*>(guard);
}

// Goes with the connection.
HeaderGuard* GuardOf(SSL* ssl) {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, Free);
  if (void* const known = SSL_get_ex_data(ssl, index)) return static_cast<HeaderGuard*>(known);
  auto guard = std::make_unique<HeaderGuard>();
  if (SSL_set_ex_data(ssl, index, guard.get()) != 1) return nullptr;
  return guard.release();
}

}  // namespace
}  // namespace muster::daemon

extern "C" int GUARDED_SSL_READ(SSL* ssl, void* buffer, int size) {
  const int got = muster::daemon::ReadPlain(ssl, buffer, size);
  if (got <= 0 || SSL_is_server(ssl) != 1) return got;
  muster::daemon::HeaderGuard* const guard = muster::daemon::GuardOf(ssl);
  const bool admitted = guard != nullptr &&
                        guard->Admit({static_cast<const char*>(buffer), static_cast<size_t>(got)});
  if (admitted) return got;
  muster::daemon::WarnOfLongHeaders();
  ERR_raise(ERR_LIB_SSL, SSL_R_EXCESSIVE_MESSAGE_SIZE);  // gRPC asks what has gone wrong
  return -1;
}
