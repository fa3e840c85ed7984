#include "client/gloo/peer_ends.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <utility>

#include "client/gloo/slots.h"
#include "gloo/types.h"

namespace muster::internal {
namespace {

uint64_t WordsSlot() { return gloo::Slot::build(kLastWordsSlotPrefix, 0); }
uint64_t CanarySlot() { return gloo::Slot::build(kCanarySlotPrefix, 0); }

// Writing some hundred bytes to a connection that is not full takes no time; a full one has a peer
// that does not read.
constexpr std::chrono::milliseconds kFlushWait(100);

}  // namespace

PeerEnds::PeerEnds(std::shared_ptr<gloo::transport::Context> context)
    : context_(std::move(context)), peers_(context_->size) {
  for (int rank = 0; rank < context_->size; ++rank) {
    if (rank != context_->rank) peers_[rank] = Meet(rank);
  }
}

std::unique_ptr<PeerEnds::Peer> PeerEnds::Meet(int rank) {
  auto peer = std::make_unique<Peer>();
  peer->words = context_->createUnboundBuffer(&peer->received, sizeof(Message));
  peer->canary = context_->createUnboundBuffer(nullptr, 0);
  try {
    peer->words->recv(rank, WordsSlot());
    peer->canary->recv(rank, CanarySlot());
  } catch (const std::exception&) {
    peer->broken = true;
  }
  return peer;
}

// A wait that is told to end before it begins returns at once, unless its connection has failed:
// then it throws.
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

std::vector<int> PeerEnds::BrokenPeers() {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<int> broken;
  for (int rank = 0; rank < context_->size; ++rank) {
    if (peers_[rank] != nullptr && CheckBroken(peers_[rank].get())) broken.push_back(rank);
  }
  return broken;
}

// A wait for the words would have to end by a time-out, upon which Gloo closes all connections of
// this rank. There is no need for one: Gloo's thread receives in order, and once the connection has
// broken it writes no more.
std::optional<PeerEnd> PeerEnds::WordsOf(int peer) {
  std::lock_guard<std::mutex> lock(mutex_);
  Peer* const from = peers_[peer].get();
  const Message& message = from->received;
  if (!CheckBroken(from) || message.complete == 0) return std::nullopt;
  const size_t length = std::min<size_t>(message.length, sizeof(message.text));
  return PeerEnd{message.rank, message.failed != 0, std::string(message.text, length)};
}

std::vector<int> PeerEnds::FailedPeers() {
  std::vector<int> spoken;
  std::vector<int> mute;
  for (int peer : BrokenPeers()) {
    const std::optional<PeerEnd> words = WordsOf(peer);
    if (!words) mute.push_back(peer);
    if (words && words->failed) spoken.push_back(peer);
  }
  spoken.insert(spoken.end(), mute.begin(), mute.end());
  return spoken;
}

void PeerEnds::Say(const PeerEnd& words) {
  std::lock_guard<std::mutex> lock(mutex_);
  said_.rank = words.rank;
  said_.failed = words.failed ? 1 : 0;
  said_.length = static_cast<uint16_t>(std::min(words.reason.size(), sizeof(said_.text)));
  std::memcpy(said_.text, words.reason.data(), said_.length);
  said_.complete = 1;
  for (int rank = 0; rank < context_->size; ++rank) {
    if (peers_[rank] != nullptr && !CheckBroken(peers_[rank].get())) Send(rank);
  }
  Flush();
}

void PeerEnds::Send(int rank) {
  auto buffer = context_->createUnboundBuffer(&said_, sizeof(said_));
  try {
    buffer->send(rank, WordsSlot());
  } catch (const std::exception&) {
    return;
  }
  sent_.push_back(std::move(buffer));
}

// For a peer that is gone or stuck the wait fails.
void PeerEnds::Flush() {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point deadline = Clock::now() + kFlushWait;
  for (const auto& buffer : sent_) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    try {
      buffer->waitSend(std::max(left, std::chrono::milliseconds(0)));
    } catch (const std::exception&) {
      continue;
    }
  }
}

}  // namespace muster::internal
