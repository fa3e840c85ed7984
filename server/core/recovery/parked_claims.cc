#include "server/core/recovery/parked_claims.h"

#include <utility>

namespace muster::core {
namespace {

// How long a claimant may take to answer, which needs one round trip.
constexpr absl::Duration kAnswerTimeout = absl::Seconds(1);

}  // namespace

void ParkedClaims::Park(Time now, WaiterId stream, const AttachRequest& request) {
  const EpochId& epoch = *request.claim->epoch;
  const Key key{epoch.number, epoch.nonce, ++arrivals_};
  const Entry* highest = Highest();
  const bool is_highest = highest == nullptr || IsHigher(epoch, *highest->request.claim->epoch);
  entries_.emplace(key, Entry{stream, request});
  by_stream_[stream] = key;
  by_process_[request.member.incarnation] = key;
  if (is_highest || next_question_ == absl::InfiniteFuture()) next_question_ = now;
}

std::optional<ParkedClaims::Entry> ParkedClaims::Take(Time now, WaiterId stream) {
  const auto key = by_stream_.find(stream);
  if (key == by_stream_.end()) return std::nullopt;
  Entry taken = std::move(entries_.extract(key->second).mapped());
  by_stream_.erase(key);
  by_process_.erase(taken.request.member.incarnation);
  if (stream == asked_stream_) next_question_ = now;
  if (entries_.empty()) next_question_ = absl::InfiniteFuture();
  return taken;
}

const ParkedClaims::Entry* ParkedClaims::FindProcess(const Incarnation& incarnation) const {
  const auto key = by_process_.find(incarnation);
  return key == by_process_.end() ? nullptr : &entries_.at(key->second);
}

const ParkedClaims::Entry* ParkedClaims::Lowest() const {
  return entries_.empty() ? nullptr : &entries_.begin()->second;
}

const ParkedClaims::Entry* ParkedClaims::Highest() const {
  if (entries_.empty()) return nullptr;
  const auto& [number, nonce, order] = entries_.rbegin()->first;
  return &entries_.lower_bound({number, nonce, 0})->second;
}

const ParkedClaims::Entry* ParkedClaims::Ask(Time now) {
  next_question_ = absl::InfiniteFuture();
  const Entry* const first = Highest();
  if (first == nullptr) return nullptr;
  auto entry = entries_.find(by_stream_.at(first->stream));
  while (entry != entries_.end() && entry->second.asked) ++entry;
  if (entry == entries_.end()) return nullptr;
  entry->second.asked = true;
  asked_stream_ = entry->second.stream;
  next_question_ = now + kAnswerTimeout;
  return &entry->second;
}

}  // namespace muster::core
