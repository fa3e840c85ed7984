#include "client/gloo/connections/peer_ends.h"

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/gloo/connections/gloo_slots.h"
#include "client/gloo/connections/interruptible_transport.h"
#include "gloo/types.h"

namespace muster::internal {
namespace {

uint64_t WordsSlot() { return gloo::Slot::build(kLastWordsSlotPrefix, 0); }
uint64_t CanarySlot() { return gloo::Slot::build(kCanarySlotPrefix, 0); }

// The time that Tell() waits for slow peers. Writing some hundred bytes to a connection takes no
// time unless it is full, and then its peer does not read.
constexpr absl::Duration kFlushWait = absl::Milliseconds(100);

// Returns an interruptor that ends the waits for slow peers. A time-out of Gloo's own would close
// the connections to all peers. Returns null if this process cannot start a thread; then Tell()
// does not wait.
std::unique_ptr<Interruptor> MakeTimer(int rank) {
  auto timer = std::make_unique<Interruptor>();
  if (!timer->Start(absl::StrCat("rank ", rank)).ok()) return nullptr;
  return timer;
}

// Returns whether the connection accepted the message.
bool Send(gloo::transport::UnboundBuffer* buffer, int rank) {
  try {
    buffer->send(rank, WordsSlot());
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

PeerEnds::PeerEnds(std::shared_ptr<gloo::transport::Context> context)
    : context_(std::move(context)), peers_(context_->size) {
  for (int rank = 0; rank < context_->size; ++rank) {
    if (rank != context_->rank) peers_[rank] = Meet(rank);
  }
}

std::unique_ptr<PeerEnds::Peer> PeerEnds::Meet(int rank) {
  auto peer = std::make_unique<Peer>();
  peer->words = context_->createUnboundBuffer(&peer->received, sizeof(WrittenWords));
  peer->canary = context_->createUnboundBuffer(nullptr, 0);
  try {
    peer->words->recv(rank, WordsSlot());
    peer->canary->recv(rank, CanarySlot());
  } catch (const std::exception&) {
    peer->broken = true;
  }
  return peer;
}

// Returns whether the connection has failed. An aborted wait returns at once if the connection is
// whole, and throws if it has failed.
bool PeerEnds::CheckBroken(Peer* peer) {
  if (peer->broken) return true;
  try {
    peer->canary->abortWaitRecv();
    peer->canary->waitRecv();
  } catch (const std::exception&) {
    peer->broken = true;
  }
  return peer->broken;
}

// Reads the words without waiting for them. A wait could end only by a time-out, upon which Gloo
// closes all connections of this rank. None is needed: Gloo's thread receives in order, and writes
// nothing more once the connection has broken.
std::vector<EndedPeer> PeerEnds::EndedPeers() {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<EndedPeer> ended;
  for (int rank = 0; rank < context_->size; ++rank) {
    Peer* const peer = peers_[rank].get();
    if (peer != nullptr && CheckBroken(peer)) ended.push_back({rank, peer->received.Read()});
  }
  return ended;
}

std::vector<int> PeerEnds::Tell(const PeerEnd& words, const std::vector<int>& ranks) {
  if (ranks.empty()) return {};
  std::lock_guard<std::mutex> lock(mutex_);
  WrittenWords written = WrittenWords::Of(words);
  const std::unique_ptr<Interruptor> timer = MakeTimer(context_->rank);
  std::shared_ptr<gloo::transport::Context> context = context_;
  if (timer != nullptr) context = std::make_shared<InterruptibleContext>(context_, timer.get());
  std::vector<Buffer> sent;
  std::vector<int> untold;
  for (const int rank : ranks) {
    Buffer buffer = context->createUnboundBuffer(&written, sizeof(written));
    if (!CheckBroken(peers_[rank].get()) && Send(buffer.get(), rank)) {
      sent.push_back(std::move(buffer));
    } else {
      untold.push_back(rank);
    }
  }
  if (timer != nullptr) Flush(sent, timer.get());
  return untold;
}

// Waits until the words are written. For a peer that is gone or does not read, the wait fails.
void PeerEnds::Flush(const std::vector<Buffer>& sent, Interruptor* timer) {
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
