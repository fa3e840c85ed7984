#ifndef MUSTER_SERVER_WEB_SERVED_CONNECTION_H_
#define MUSTER_SERVER_WEB_SERVED_CONNECTION_H_

#include <functional>

#include "boost/asio/ip/tcp.hpp"
#include "server/web/http_server.h"

namespace muster::web {

// The state that all connections of a server share. It outlives them.
struct HttpServerState {
  HttpOptions options;
  bool loopback_only = true;  // whether only this machine can reach the port
};

// Serves one request on the socket and closes it. Returns at once; everything runs on the socket's
// executor, which must run one handler at a time. Calls `closed` after the socket is closed.
void ServeConnection(boost::asio::ip::tcp::socket socket, const HttpServerState& all,
                     std::function<void()> closed);

}  // namespace muster::web

#endif  // MUSTER_SERVER_WEB_SERVED_CONNECTION_H_
