#ifndef MUSTER_TESTS_UTIL_HTTP_H_
#define MUSTER_TESTS_UTIL_HTTP_H_

#include <map>
#include <string>

namespace muster::testing {

// A TCP connection to a port of this machine; a test failure where there is none.
class HttpConnection {
 public:
  explicit HttpConnection(int port, const std::string& host = "127.0.0.1");
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  void Send(const std::string& bytes) const;
  // Everything until the other side closes.
  std::string Receive() const;
  // Takes at most so many bytes of what has come, and waits for none.
  void ReceiveSome(size_t bytes) const;

 private:
  int fd_ = -1;
};

struct HttpAnswer {
  int status = 0;                              // 0: nothing came
  std::map<std::string, std::string> headers;  // by names in lower case
  std::string body;
};

HttpAnswer ParseHttpAnswer(const std::string& bytes);

// Sends these bytes, and reads until the other side closes.
HttpAnswer Exchange(int port, const std::string& request);

// A GET to localhost.
HttpAnswer Get(int port, const std::string& path);

}  // namespace muster::testing

#endif  // MUSTER_TESTS_UTIL_HTTP_H_
