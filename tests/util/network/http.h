#ifndef MUSTER_TESTS_UTIL_NETWORK_HTTP_H_
#define MUSTER_TESTS_UTIL_NETWORK_HTTP_H_

#include <map>
#include <string>

namespace muster::testing {

// A TCP connection to a port of this machine. The constructor fails the test if it cannot connect.
class HttpConnection {
 public:
  explicit HttpConnection(int port, const std::string& host = "127.0.0.1");
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  void Send(const std::string& bytes) const;
  // Returns all bytes until the other side closes.
  std::string Receive() const;
  // Drops at most `bytes` received bytes, and does not block.
  void ReceiveSome(size_t bytes) const;

 private:
  int fd_ = -1;
};

struct HttpResponse {
  int status = 0;                              // 0: no answer came
  std::map<std::string, std::string> headers;  // by names in lower case
  std::string body;
};

HttpResponse ParseHttpResponse(const std::string& bytes);

// Sends the request, reads until the other side closes, and returns the answer.
HttpResponse Exchange(int port, const std::string& request);

// Sends a GET to localhost.
HttpResponse Get(int port, const std::string& path);

}  // namespace muster::testing

#endif  // MUSTER_TESTS_UTIL_NETWORK_HTTP_H_
