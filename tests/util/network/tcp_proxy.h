#ifndef MUSTER_TESTS_UTIL_NETWORK_TCP_PROXY_H_
#define MUSTER_TESTS_UTIL_NETWORK_TCP_PROXY_H_

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace muster::testing {

// A port of 127.0.0.1 whose connections are forwarded to another port until they are cut.
class TcpProxy {
 public:
  explicit TcpProxy(int target_port);
  ~TcpProxy();

  std::string address() const;

  // Breaks every connection, as a network failure would.
  void Cut();
  // Breaks new connections at once while `refuse` is true.
  void Refuse(bool refuse);
  // Holds back the first bytes of new connections for `delay`.
  void Delay(std::chrono::milliseconds delay);
  // Forwards new connections to another port.
  void Redirect(int target_port);
  // Waits until `count` connections have been made in all.
  void WaitForConnections(int count);
  // Waits until `count` more connections have been refused.
  void WaitForRefusals(int count);

 private:
  struct Connection;

  void Accept();
  static void Pump(Connection* connection, std::chrono::milliseconds delay);

  int listener_ = -1;
  int port_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  int target_port_;
  bool refuse_ = false;
  int refusals_ = 0;
  std::chrono::milliseconds delay_{0};
  std::vector<std::unique_ptr<Connection>> connections_;
  std::thread acceptor_;
};

}  // namespace muster::testing

#endif  // MUSTER_TESTS_UTIL_NETWORK_TCP_PROXY_H_
