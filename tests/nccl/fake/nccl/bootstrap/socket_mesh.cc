#include "tests/nccl/fake/nccl/bootstrap/socket_mesh.h"

#include <poll.h>

#include <chrono>
#include <cstring>
#include <utility>

namespace fake_nccl {
namespace {

constexpr auto kPoll = std::chrono::milliseconds(10);
constexpr int kPollMilliseconds = 10;

bool IsControl(MessageKind kind) { return kind < MessageKind::kCollective; }

}  // namespace

Mesh::Mesh(int rank, std::vector<Peer> peers)
    : rank_(rank), peers_(std::move(peers)), sending_(peers_.size()), inboxes_(peers_.size()) {
  receiver_ = std::thread([this] { ReceiveLoop(); });
}

Mesh::~Mesh() {
  closing_ = true;
  receiver_.join();
}

bool Mesh::Send(int peer, MessageKind kind, uint64_t tag, const void* data, size_t size,
                const AbortFlag& abort) {
  if (peer == rank_) {
    const char* bytes = static_cast<const char*>(data);
    Deliver(peer, kind, Message{tag, std::vector<char>(bytes, bytes + size)});
    return true;
  }
  const std::lock_guard<std::mutex> lock(sending_[peer]);
  Socket& socket = IsControl(kind) ? peers_[peer].control : peers_[peer].data;
  const Header header{kind, tag, size};
  // A message to a peer that is gone is dropped silently.
  if (socket.Send(&header, sizeof header, abort)) socket.Send(data, size, abort);
  return !abort;
}

bool Mesh::Receive(int peer, MessageKind kind, Message* message, const AbortFlag& abort) {
  std::unique_lock<std::mutex> lock(mutex_);
  std::deque<Message>& queue = inboxes_[peer].queues[static_cast<int>(kind)];
  while (queue.empty()) {
    if (abort) return false;
    arrived_.wait_for(lock, kPoll);
  }
  *message = std::move(queue.front());
  queue.pop_front();
  return true;
}

bool Mesh::IsLost(int peer) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return inboxes_[peer].lost;
}

bool Mesh::IsAnyLost() {
  for (size_t peer = 0; peer < inboxes_.size(); ++peer) {
    if (IsLost(static_cast<int>(peer))) return true;
  }
  return false;
}

void Mesh::ReceiveLoop() {
  std::vector<pollfd> files;
  for (const Peer& peer : peers_) {
    files.push_back({peer.control.file(), POLLIN, 0});
    files.push_back({peer.data.file(), POLLIN, 0});
  }
  while (!closing_) {
    if (poll(files.data(), files.size(), kPollMilliseconds) <= 0) continue;
    for (size_t i = 0; i < files.size(); ++i) {
      if (files[i].revents == 0) continue;
      const int peer = static_cast<int>(i / 2);
      Socket& socket = i % 2 == 0 ? peers_[peer].control : peers_[peer].data;
      if (ReceiveMessage(peer, socket)) continue;
      files[i].fd = -1;
      if (i % 2 == 0) MarkLost(peer);  // even sockets carry control messages, such as kFinalize
    }
  }
}

bool Mesh::ReceiveMessage(int peer, Socket& socket) {
  Header header;
  if (!socket.Receive(&header, sizeof header, closing_)) return false;
  Message message;
  message.tag = header.tag;
  message.bytes.resize(header.size);
  if (!socket.Receive(message.bytes.data(), header.size, closing_)) return false;
  Deliver(peer, header.kind, std::move(message));
  return true;
}

void Mesh::Deliver(int peer, MessageKind kind, Message message) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (kind == MessageKind::kFinalize) inboxes_[peer].finalized = true;
  inboxes_[peer].queues[static_cast<int>(kind)].push_back(std::move(message));
  arrived_.notify_all();
}

void Mesh::MarkLost(int peer) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!inboxes_[peer].finalized && !closing_) inboxes_[peer].lost = true;
}

}  // namespace fake_nccl
