#include "client/gloo/communicator_teardown.h"

#include <algorithm>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/gloo/connections/sigpipe_guard.h"
#include "client/src/base/error_note.h"
#include "client/src/base/steady_clock.h"
#include "client/src/data_plane/broken_peers.h"
#include "client/src/group/named_members.h"
#include "client/src/group/rank_names.h"

namespace muster::internal {
namespace {

constexpr std::chrono::milliseconds kPoll(1);

bool HasFailed(const EndedPeer& peer) { return !peer.notice || peer.notice->failed; }

// Returns the peer to blame, if one has failed. Prefers a peer that has left a notice, since it
// knows more than this rank can see, to a peer that died without a notice.
std::optional<EndedPeer> FindFailedPeer(const std::vector<EndedPeer>& ended) {
  std::optional<EndedPeer> silent;
  for (const EndedPeer& peer : ended) {
    if (!HasFailed(peer)) continue;
    if (peer.notice) return peer;
    if (!silent) silent = peer;
  }
  return silent;
}

}  // namespace

CommunicatorTeardown::CommunicatorTeardown(const Group& group, Interrupter* interrupter,
                                           std::function<void()> close)
    : group_(group), interrupter_(interrupter), close_(std::move(close)) {}

void CommunicatorTeardown::Add(EndNoticeChannel* channel) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    channels_.push_back(channel);
  }
  interrupter_->SetPeriodicCheck([this] { CheckPeers(); });
}

void CommunicatorTeardown::CheckPeers() {
  if (FindFailedPeer(EndedPeers())) interrupter_->Raise(absl::UnavailableError(""));
}

std::vector<EndedPeer> CommunicatorTeardown::EndedPeers() {
  std::lock_guard<std::mutex> lock(mutex_);
  std::map<int, EndedPeer> by_rank;
  for (EndNoticeChannel* channel : channels_) {
    for (EndedPeer& peer : channel->EndedPeers()) {
      EndedPeer& known = by_rank[peer.rank];
      known.rank = peer.rank;
      if (!known.notice) known.notice = std::move(peer.notice);
      if (known.seen.empty()) known.seen = std::move(peer.seen);
    }
  }
  std::vector<EndedPeer> ended;
  for (auto& [rank, peer] : by_rank) ended.push_back(std::move(peer));
  return ended;
}

absl::Status CommunicatorTeardown::Fail(const Operation& operation, const Deadline& deadline,
                                        const CallFailure& failure) {
  EndNotice notice{group_.rank(), true, ""};
  absl::Status status = ExplainInterruption(operation, deadline.timeout(), failure);
  if (status.ok()) status = ExplainPeerFailure(operation, deadline, failure, &notice);
  if (notice.reason.empty()) notice.reason = CodeAndText(status);
  // If a member was lost, the job tells the peers, with a better error than this rank has.
  EndChannels(absl::IsAborted(status) ? nullptr : &notice);
  interrupter_->Raise(status);
  return status;
}

void CommunicatorTeardown::Finish() {
  const EndNotice notice{group_.rank(), false, "it destroyed its communicator"};
  if (EndChannels(&notice)) Close();
}

void CommunicatorTeardown::Close() { close_(); }

// Returns OK if a broken connection ended the operation.
absl::Status CommunicatorTeardown::ExplainInterruption(const Operation& operation,
                                                       absl::Duration timeout,
                                                       const CallFailure& failure) const {
  const absl::Status why = interrupter_->status();
  if (!why.message().empty()) return why;
  const std::string awaited =
      failure.awaited.empty()
          ? ""
          : absl::StrCat(" while waiting for ", DescribePeers(group_, failure.awaited));
  switch (why.code()) {
    case absl::StatusCode::kUnavailable:
      return absl::OkStatus();
    case absl::StatusCode::kDeadlineExceeded:
      return WithMissing(
          group_, failure.awaited,
          absl::DeadlineExceededError(absl::StrCat(
              operation.Describe(), " did not end within ", absl::FormatDuration(timeout), awaited,
              "; all ranks must make the same calls in the same order with the same sizes")));
    case absl::StatusCode::kCancelled:
      return absl::CancelledError(absl::StrCat(operation.Describe(), " was cancelled", awaited));
    default:
      return why;
  }
}

// Returns the error of an operation whose peer failed. Sets `*notice` to the peer's notice, if
// it left one, so that it is passed on.
absl::Status CommunicatorTeardown::ExplainPeerFailure(const Operation& operation,
                                                      const Deadline& deadline,
                                                      const CallFailure& failure,
                                                      EndNotice* notice) {
  const std::string& reason = failure.reason;
  EndedPeer ended_peer = AwaitEndedPeer(failure.ended, deadline);
  if (ended_peer.rank < 0) {
    return absl::UnavailableError(absl::StrCat(operation.Describe(), ": Gloo failed: ", reason));
  }
  if (!ended_peer.notice) {
    absl::Status lost = AwaitReportedLoss(group_, deadline.Remaining());
    if (!lost.ok()) return lost;
    ended_peer = AwaitNotice(std::move(ended_peer));
  }
  if (ended_peer.notice) {
    *notice = *ended_peer.notice;
    notice->failed = true;
    const std::string text =
        absl::StrCat(operation.Describe(), ": ", DescribePeer(group_, notice->rank),
                     " is no longer there: ", notice->reason);
    return WithMember(group_, notice->rank, absl::UnavailableError(text));
  }
  const std::string& seen = ended_peer.seen.empty() ? reason : ended_peer.seen;
  return BrokenConnection(group_, ended_peer.rank, operation.Describe(),
                          seen.empty() ? "it ended in the middle of a message" : seen);
}

// Returns the peer to blame, or else `ended`, which is -1 if the operation saw no peer's end.
//
// Gloo reports a broken connection to its buffers one after another, and its thread may be
// descheduled in between. So the reason may become visible a moment after the operation failed. A
// failed peer is returned at once; a peer that ended normally only if no failed peer appears within
// 100 ms. Only an error with no peer to blame, which is rare, takes the full 2 s.
EndedPeer CommunicatorTeardown::AwaitEndedPeer(int ended, const Deadline& deadline) {
  constexpr absl::Duration kFailedPeerWait = absl::Milliseconds(100);
  constexpr absl::Duration kAnyPeerWait = absl::Seconds(2);
  const SteadyTime start = SteadyClock::now();
  const absl::Duration max_wait =
      std::max(kFailedPeerWait, std::min(kAnyPeerWait, deadline.Left()));
  for (;;) {
    const std::vector<EndedPeer> peers = EndedPeers();
    if (const std::optional<EndedPeer> failed = FindFailedPeer(peers)) return *failed;
    const absl::Duration waited = Between(start, SteadyClock::now());
    if (waited >= kFailedPeerWait) {
      if (!peers.empty()) return peers.front();
      if (ended >= 0 || waited >= max_wait) return EndedPeer{ended, std::nullopt, ""};
    }
    std::this_thread::sleep_for(kPoll);
  }
}

// Returns the peer to blame, when `silent` has ended without a notice and the job knows of no loss.
//
// A peer that ends because of another one may be silent, too: its notice does not leave it if a
// message is in front of it that cannot be sent any more. Then this rank sees two silent ends, and
// cannot tell which was first. Another peer can, and passes on what it knows. One silent end may be
// the second one, too, as Gloo's thread reports them one after another.
EndedPeer CommunicatorTeardown::AwaitNotice(EndedPeer silent) {
  constexpr absl::Duration kWaitAfterOne = absl::Milliseconds(100);
  constexpr absl::Duration kWaitAfterSeveral = absl::Seconds(1);
  const SteadyTime start = SteadyClock::now();
  for (;;) {
    const std::vector<EndedPeer> peers = EndedPeers();
    if (std::optional<EndedPeer> failed = FindFailedPeer(peers)) silent = *std::move(failed);
    if (silent.notice) return silent;
    const auto failures = std::count_if(peers.begin(), peers.end(), &HasFailed);
    const bool all_have_ended = static_cast<int>(peers.size()) == group_.size() - 1;
    const absl::Duration waited = Between(start, SteadyClock::now());
    if (all_have_ended || waited >= (failures > 1 ? kWaitAfterSeveral : kWaitAfterOne)) {
      return silent;
    }
    std::this_thread::sleep_for(kPoll);
  }
}

bool CommunicatorTeardown::EndChannels(const EndNotice* notice) {
  std::vector<EndNoticeChannel*> channels;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    channels.swap(channels_);
  }
  if (channels.empty()) return false;
  const SigpipeGuard guard;
  interrupter_->SetPeriodicCheck(nullptr);  // afterwards no thread uses the channels
  if (notice != nullptr) {
    std::vector<int> unnotified = Peers();
    std::reverse(channels.begin(), channels.end());
    for (EndNoticeChannel* channel : channels) unnotified = channel->Notify(*notice, unnotified);
  }
  return true;
}

std::vector<int> CommunicatorTeardown::Peers() const {
  std::vector<int> peers;
  for (int rank = 0; rank < group_.size(); ++rank) {
    if (rank != group_.rank()) peers.push_back(rank);
  }
  return peers;
}

}  // namespace muster::internal
