#include "client/gloo/connections/connection_monitor.h"

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/gloo/connections/gloo_slots.h"
#include "client/gloo/connections/interruptible_transport.h"
#include "client/gloo/endings/exception.h"
#include "gloo/types.h"

namespace muster::internal {
namespace {

uint64_t EndNoticeSlot() { return gloo::Slot::build(kEndNoticeSlotPrefix, 0); }
uint64_t SentinelSlot() { return gloo::Slot::build(kSentinelSlotPrefix, 0); }

// The time that Notify() waits for slow peers. Writing some hundred bytes to a connection takes no
// time unless it is full, and then its peer does not read.
constexpr absl::Duration kFlushWait = absl::Milliseconds(100);

// Returns an interrupter that ends the waits for slow peers. A time-out of Gloo's own would close
// the connections to all peers. Returns null if this process cannot start a thread; then Notify()
// does not wait.
std::unique_ptr<Interrupter> MakeTimer(int rank) {
  auto timer = std::make_unique<Interrupter>();
  if (!timer->Start(absl::StrCat("rank ", rank)).ok()) return nullptr;
  return timer;
}

// Returns whether the connection accepted the message.
bool Send(gloo::transport::UnboundBuffer* buffer, int rank) {
  try {
    buffer->send(rank, EndNoticeSlot());
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

ConnectionMonitor::ConnectionMonitor(std::shared_ptr<gloo::transport::Context> context)
    : context_(std::move(context)), peers_(context_->size) {
  for (int rank = 0; rank < context_->size; ++rank) {
    if (rank != context_->rank) peers_[rank] = WatchPeer(rank);
  }
}

std::unique_ptr<ConnectionMonitor::Peer> ConnectionMonitor::WatchPeer(int rank) {
  auto peer = std::make_unique<Peer>();
  peer->notice = context_->createUnboundBuffer(&peer->received, sizeof(EncodedEndNotice));
  peer->sentinel = context_->createUnboundBuffer(nullptr, 0);
  try {
    peer->notice->recv(rank, EndNoticeSlot());
    peer->sentinel->recv(rank, SentinelSlot());
  } catch (const std::exception& error) {
    NoteBroken(error, peer.get());
  }
  return peer;
}

// Returns whether the connection has failed. An aborted wait returns at once if the connection is
// whole, and throws if it has failed.
bool ConnectionMonitor::CheckBroken(Peer* peer) {
  if (peer->broken) return true;
  try {
    peer->sentinel->abortWaitRecv();
    peer->sentinel->waitRecv();
  } catch (const std::exception& error) {
    NoteBroken(error, peer);
  }
  return peer->broken;
}

void ConnectionMonitor::NoteBroken(const std::exception& error, Peer* peer) {
  peer->broken = true;
  peer->why = ReasonOf(error);
}

// Reads the notices without waiting for them. A wait could end only by a time-out, upon which Gloo
// closes all connections of this rank. None is needed: Gloo's thread receives in order, and writes
// nothing more once the connection has broken.
std::vector<EndedPeer> ConnectionMonitor::EndedPeers() {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<EndedPeer> ended;
  for (int rank = 0; rank < context_->size; ++rank) {
    Peer* const peer = peers_[rank].get();
    if (peer != nullptr && CheckBroken(peer)) {
      ended.push_back({rank, peer->received.Decode(), peer->why});
    }
  }
  return ended;
}

std::vector<int> ConnectionMonitor::Notify(const EndNotice& notice, const std::vector<int>& ranks) {
  if (ranks.empty()) return {};
  std::lock_guard<std::mutex> lock(mutex_);
  EncodedEndNotice written = EncodedEndNotice::From(notice);
  const std::unique_ptr<Interrupter> timer = MakeTimer(context_->rank);
  std::shared_ptr<gloo::transport::Context> context = context_;
  if (timer != nullptr) context = std::make_shared<InterruptibleContext>(context_, timer.get());
  std::vector<Buffer> sent;
  std::vector<int> unnotified;
  for (const int rank : ranks) {
    Buffer buffer = context->createUnboundBuffer(&written, sizeof(written));
    if (!CheckBroken(peers_[rank].get()) && Send(buffer.get(), rank)) {
      sent.push_back(std::move(buffer));
    } else {
      unnotified.push_back(rank);
    }
  }
  if (timer != nullptr) Flush(sent, timer.get());
  return unnotified;
}

// Waits until the notices are written. For a peer that is gone or does not read, the wait fails.
void ConnectionMonitor::Flush(const std::vector<Buffer>& sent, Interrupter* timer) {
  timer->Arm(kFlushWait);
  for (const Buffer& buffer : sent) {
    try {
      buffer->waitSend();
    } catch (const std::exception&) {
      continue;
    }
  }
}

}  // namespace muster::internal
