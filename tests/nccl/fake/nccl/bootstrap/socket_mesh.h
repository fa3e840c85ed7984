#ifndef MUSTER_TESTS_NCCL_FAKE_NCCL_BOOTSTRAP_SOCKET_MESH_H_
#define MUSTER_TESTS_NCCL_FAKE_NCCL_BOOTSTRAP_SOCKET_MESH_H_

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/nccl/fake/nccl/bootstrap/socket.h"

namespace fake_nccl {

enum class MessageKind : uint32_t {
  // Messages between the host threads, on the control connection.
  kConnect,      // "my first collective begins"
  kConnectPeer,  // "my first send or receive with you begins"
  kFinalize,     // "I am done with this communicator"
  kChild,        // a message of a member of a new child communicator
  // Messages between kernels, on the data connection.
  kCollective,
  kPointToPoint,
  kReceived,
};
constexpr int kMessageKinds = 7;

struct Message {
  uint64_t tag = 0;
  std::vector<char> bytes;
};

// One rank's connections to all other ranks of its communicator. Each peer has one connection for
// control and one for data, so an operation that is cut off in the middle spoils only the data
// connection. A thread receives all messages, so senders never wait for each other.
class Mesh {
 public:
  struct Peer {
    Socket control;
    Socket data;
  };

  // `peers` is indexed by rank. The entry of `rank` itself is not open.
  Mesh(int rank, std::vector<Peer> peers);
  ~Mesh();

  // These return false once `abort` is set. A peer that is gone never answers, so Receive() then
  // waits for ever, like a real kernel.
  bool Send(int peer, MessageKind kind, uint64_t tag, const void* data, size_t size,
            const AbortFlag& abort);
  bool Receive(int peer, MessageKind kind, Message* message, const AbortFlag& abort);

  // Return whether the peer, or any peer, has gone without kFinalize.
  bool IsLost(int peer);
  bool IsAnyLost();

 private:
  struct Header {
    MessageKind kind;
    uint64_t tag;
    uint64_t size;
  };
  struct Inbox {
    std::array<std::deque<Message>, kMessageKinds> queues;
    bool finalized = false;
    bool lost = false;
  };

  void ReceiveLoop();
  bool ReceiveMessage(int peer, Socket& socket);
  void Deliver(int peer, MessageKind kind, Message message);
  void MarkLost(int peer);

  const int rank_;
  std::vector<Peer> peers_;
  std::vector<std::mutex> sending_;  // by peer: messages stay whole
  AbortFlag closing_{false};
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Inbox> inboxes_;  // by peer
  std::thread receiver_;
};

}  // namespace fake_nccl

#endif  // MUSTER_TESTS_NCCL_FAKE_NCCL_BOOTSTRAP_SOCKET_MESH_H_
