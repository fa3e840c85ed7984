#include "client/gloo/farewell.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "client/gloo/slots.h"
#include "gloo/types.h"

namespace muster::internal {
namespace {

uint64_t WordsSlot() { return gloo::Slot::build(kLastWordsSlotPrefix, 0); }
uint64_t CanarySlot() { return gloo::Slot::build(kCanarySlotPrefix, 0); }

}  // namespace

Farewell::Farewell(std::shared_ptr<gloo::transport::Context> context)
    : context_(std::move(context)), peers_(context_->size) {
  for (int rank = 0; rank < context_->size; ++rank) {
    if (rank != context_->rank) peers_[rank] = Meet(rank);
  }
}

std::unique_ptr<Farewell::Peer> Farewell::Meet(int rank) {
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
bool Farewell::CheckBroken(Peer* peer) {
  if (peer->broken) return true;
  try {
    peer->canary->abortWaitRecv();
    peer->canary->waitRecv();
  } catch (const std::exception&) {
    peer->broken = true;
  }
  return peer->broken;
}

std::vector<int> Farewell::BrokenPeers() {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<int> broken;
  for (int rank = 0; rank < context_->size; ++rank) {
    if (peers_[rank] != nullptr && CheckBroken(peers_[rank].get())) broken.push_back(rank);
  }
  return broken;
}

std::optional<LastWords> Farewell::Hear(Peer* peer) {
  try {
    peer->words->waitRecv(std::chrono::milliseconds(0));
  } catch (const std::exception&) {
    return std::nullopt;
  }
  const Message& message = peer->received;
  const size_t length = std::min<size_t>(message.length, sizeof(message.text));
  return LastWords{message.rank, message.failed != 0, std::string(message.text, length)};
}

std::optional<LastWords> Farewell::WordsOf(int peer) {
  std::lock_guard<std::mutex> lock(mutex_);
  Peer* const from = peers_[peer].get();
  if (!from->heard) from->said = Hear(from);
  from->heard = true;
  return from->said;
}

std::vector<int> Farewell::FailedPeers() {
  std::vector<int> failed;
  for (int peer : BrokenPeers()) {
    const std::optional<LastWords> words = WordsOf(peer);
    if (!words || words->failed) failed.push_back(peer);
  }
  return failed;
}

void Farewell::Say(const LastWords& words) {
  std::lock_guard<std::mutex> lock(mutex_);
  said_.rank = words.rank;
  said_.failed = words.failed ? 1 : 0;
  said_.length = static_cast<uint16_t>(std::min(words.reason.size(), sizeof(said_.text)));
  std::memcpy(said_.text, words.reason.data(), said_.length);
  for (int rank = 0; rank < context_->size; ++rank) {
    if (peers_[rank] == nullptr || CheckBroken(peers_[rank].get())) continue;
    try {
      sent_.push_back(context_->createUnboundBuffer(&said_, sizeof(said_)));
      sent_.back()->send(rank, WordsSlot());
    } catch (const std::exception&) {
      peers_[rank]->broken = true;
    }
  }
}

}  // namespace muster::internal
