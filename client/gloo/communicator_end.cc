#include "client/gloo/communicator_end.h"

#include <algorithm>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/gloo/connections/sigpipe_guard.h"
#include "client/src/base/steady_clock.h"
#include "client/src/data_plane/broken_peers.h"
#include "client/src/group/rank_names.h"

namespace muster::internal {
namespace {

bool HasFailed(const EndedPeer& peer) { return !peer.words || peer.words->failed; }

// Returns the peer to blame, if one has failed. Prefers a peer that has left words, since it knows
// more than this rank can see, to a peer that died without a word.
std::optional<EndedPeer> FailedPeer(const std::vector<EndedPeer>& ended) {
  std::optional<EndedPeer> mute;
  for (const EndedPeer& peer : ended) {
    if (!HasFailed(peer)) continue;
    if (peer.words) return peer;
    if (!mute) mute = peer;
  }
  return mute;
}

}  // namespace

CommunicatorEnd::CommunicatorEnd(const Group& group, Interruptor* interruptor,
                                 std::function<void()> close)
    : group_(group), interruptor_(interruptor), close_(std::move(close)) {}

void CommunicatorEnd::Add(EndChannel* channel) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    channels_.push_back(channel);
  }
  interruptor_->SetPatrol([this] { Patrol(); });
}

void CommunicatorEnd::Patrol() {
  if (FailedPeer(EndedPeers())) interruptor_->Raise(absl::UnavailableError(""));
}

std::vector<EndedPeer> CommunicatorEnd::EndedPeers() {
  std::lock_guard<std::mutex> lock(mutex_);
  std::map<int, EndedPeer> by_rank;
  for (EndChannel* channel : channels_) {
    for (EndedPeer& peer : channel->EndedPeers()) {
      EndedPeer& known = by_rank[peer.rank];
      known.rank = peer.rank;
      if (!known.words) known.words = std::move(peer.words);
    }
  }
  std::vector<EndedPeer> ended;
  for (auto& [rank, peer] : by_rank) ended.push_back(std::move(peer));
  return ended;
}

absl::Status CommunicatorEnd::Fail(const Operation& operation, const Deadline& deadline,
                                   const CallFailure& failure) {
  PeerEnd words{group_.rank(), true, ""};
  absl::Status status = ExplainInterruption(operation, deadline.timeout(), failure);
  if (status.ok()) status = ExplainBreak(operation, deadline, failure, &words);
  if (words.reason.empty()) words.reason = status.ToString();
  // If a member was lost, the job tells the peers, with a better error than this rank has.
  Close(absl::IsAborted(status) ? nullptr : &words);
  interruptor_->Raise(status);
  return status;
}

void CommunicatorEnd::Finish() {
  const PeerEnd words{group_.rank(), false, "it destroyed its communicator"};
  Close(&words);
}

// Returns OK if a broken connection ended the operation.
absl::Status CommunicatorEnd::ExplainInterruption(const Operation& operation,
                                                  absl::Duration timeout,
                                                  const CallFailure& failure) const {
  const absl::Status why = interruptor_->status();
  if (!why.message().empty()) return why;
  const std::string awaited =
      failure.awaited.empty()
          ? ""
          : absl::StrCat(" while waiting for ", DescribePeers(group_, failure.awaited));
  switch (why.code()) {
    case absl::StatusCode::kUnavailable:
      return absl::OkStatus();
    case absl::StatusCode::kDeadlineExceeded:
      return absl::DeadlineExceededError(absl::StrCat(
          operation.Describe(), " did not end within ", absl::FormatDuration(timeout), awaited,
          "; all ranks must make the same calls in the same order with the same sizes"));
    case absl::StatusCode::kCancelled:
      return absl::CancelledError(absl::StrCat(operation.Describe(), " was cancelled", awaited));
    default:
      return why;
  }
}

// Returns the error of an operation whose peer failed. Sets `*words` to the peer's last words, if
// it left some, so that they are passed on.
absl::Status CommunicatorEnd::ExplainBreak(const Operation& operation, const Deadline& deadline,
                                           const CallFailure& failure, PeerEnd* words) {
  const std::string& reason = failure.reason;
  const EndedPeer culprit = AwaitCulprit(failure.ended, deadline);
  if (culprit.rank < 0) {
    return absl::UnavailableError(absl::StrCat(operation.Describe(), ": Gloo failed: ", reason));
  }
  if (culprit.words) {
    *words = *culprit.words;
    words->failed = true;
    return absl::UnavailableError(absl::StrCat(operation.Describe(), ": ",
                                               DescribePeer(group_, words->rank),
                                               " is no longer there: ", words->reason));
  }
  return ExplainBrokenConnection(group_, culprit.rank, operation.Describe(),
                                 reason.empty() ? "it ended in the middle of a message" : reason,
                                 deadline.Remaining());
}

// Returns the peer to blame, or else `ended`, which is -1 if the operation saw no peer's end.
//
// Gloo reports a broken connection to its buffers one after another, and its thread may be
// descheduled in between. So the reason may become visible a moment after the operation failed. A
// failed peer is returned at once; a peer that ended normally only if no failed peer appears within
// 100 ms. Only an error with no peer to blame, which is rare, takes the full 2 s.
EndedPeer CommunicatorEnd::AwaitCulprit(int ended, const Deadline& deadline) {
  constexpr absl::Duration kForAnother = absl::Milliseconds(100);
  constexpr absl::Duration kForAny = absl::Seconds(2);
  constexpr std::chrono::milliseconds kPoll(1);
  const SteadyTime start = SteadyClock::now();
  const absl::Duration patience = std::max(kForAnother, std::min(kForAny, deadline.Left()));
  for (;;) {
    const std::vector<EndedPeer> peers = EndedPeers();
    if (const std::optional<EndedPeer> failed = FailedPeer(peers)) return *failed;
    const absl::Duration waited = Between(start, SteadyClock::now());
    if (waited >= kForAnother) {
      if (!peers.empty()) return peers.front();
      if (ended >= 0 || waited >= patience) return EndedPeer{ended, std::nullopt};
    }
    std::this_thread::sleep_for(kPoll);
  }
}

void CommunicatorEnd::Close(const PeerEnd* words) {
  std::vector<EndChannel*> channels;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    channels.swap(channels_);
  }
  if (channels.empty()) return;
  const SigpipeGuard guard;
  interruptor_->SetPatrol(nullptr);  // afterwards no thread uses the channels
  if (words != nullptr) {
    std::vector<int> untold = Peers();
    std::reverse(channels.begin(), channels.end());
    for (EndChannel* channel : channels) untold = channel->Tell(*words, untold);
  }
  close_();
}

std::vector<int> CommunicatorEnd::Peers() const {
  std::vector<int> peers;
  for (int rank = 0; rank < group_.size(); ++rank) {
    if (rank != group_.rank()) peers.push_back(rank);
  }
  return peers;
}

}  // namespace muster::internal
