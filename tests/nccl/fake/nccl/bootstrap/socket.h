#ifndef MUSTER_TESTS_NCCL_FAKE_NCCL_BOOTSTRAP_SOCKET_H_
#define MUSTER_TESTS_NCCL_FAKE_NCCL_BOOTSTRAP_SOCKET_H_

#include <netinet/in.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace fake_nccl {

// A flag that ends waits, like NCCL's abort flag.
using AbortFlag = std::atomic<bool>;

// A TCP socket on this machine. Every call that blocks returns false once `abort` is set.
class Socket {
 public:
  Socket() = default;
  ~Socket();
  Socket(Socket&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  Socket& operator=(Socket&& other) noexcept;

  static Socket Listen(sockaddr_in* address);
  static Socket Connect(const sockaddr_in& address);  // not open() if no process listens there
  Socket Accept(const AbortFlag& abort);              // not open() if aborted

  bool open() const { return file_ >= 0; }
  int file() const { return file_; }

  // Return false also if the other end has closed.
  bool Send(const void* data, size_t size, const AbortFlag& abort);
  bool Receive(void* data, size_t size, const AbortFlag& abort);

  // Ends calls that block on this socket, on either side.
  void Shutdown();

 private:
  explicit Socket(int file);
  bool AwaitReady(short events, const AbortFlag& abort) const;

  int file_ = -1;
};

int64_t LiveSockets();

}  // namespace fake_nccl

#endif  // MUSTER_TESTS_NCCL_FAKE_NCCL_BOOTSTRAP_SOCKET_H_
