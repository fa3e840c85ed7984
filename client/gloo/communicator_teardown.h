#ifndef MUSTER_CLIENT_GLOO_COMMUNICATOR_TEARDOWN_H_
#define MUSTER_CLIENT_GLOO_COMMUNICATOR_TEARDOWN_H_

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/gloo/collectives/operation.h"
#include "client/gloo/connections/interrupter.h"
#include "client/gloo/endings/end_notice_channel.h"
#include "client/src/base/deadline.h"
#include "muster/group.h"

namespace muster::internal {

// A record of what stopped an operation that did not complete.
struct CallFailure {
  std::string reason;        // Gloo's text; empty if no connection failed during the operation
  std::vector<int> awaited;  // the ranks that the operation waited for, if known
  int ended = -1;            // the rank whose end the operation saw; -1 if it saw none
};

// The end of one rank's communicator. Finds out why an operation stopped and which peer is to
// blame, tells the other peers, and closes this rank's connections and shared memory. Tests:
// tests/client/gloo/communicator_teardown_test.cc.
//
// The order matters. A peer sees when connections close, and then looks for the reason. So this
// rank first sends the end notice, in Fail(), and closes the connections afterwards, in Close():
//
//   rank 1 fails, tells rank 2 "rank 1: time-out", and closes.
//   Rank 2 sees a broken connection, finds the notice, reports "rank 1: time-out", and forwards it.
//
// Fail() comes while the operation's messages still exist. Gloo sends in order, and no more to a
// peer to which it owes the rest of a message that exists no longer.
class CommunicatorTeardown {
 public:
  // `close` drops this rank's connections and memory. It runs after the peers were notified,
  // since they see it.
  CommunicatorTeardown(const Group& group, Interrupter* interrupter, std::function<void()> close);

  // Adds a channel and watches it from now on. Peers that both this channel and earlier ones reach
  // are notified on this one. `close` may destroy the channel. From the first Add() on, the
  // interrupter's thread calls CheckPeers() while an operation is in progress.
  void Add(EndNoticeChannel* channel);

  // Raises the interrupter with UNAVAILABLE if a peer has failed. Needed because Gloo does not wake
  // an operation whose connection broke in the middle of a message. Any thread may call this.
  void CheckPeers();

  // Ends the communicator for the peers after an operation that did not complete. Returns the
  // operation's error, and raises the interrupter with it. Blocks until the peer to blame is known;
  // if that peer died without a notice, also until the job has had time to report it lost.
  absl::Status Fail(const Operation& operation, const Deadline& deadline,
                    const CallFailure& failure);

  // Closes this rank's connections and memory after Fail(), when the operation's messages no longer
  // exist.
  void Close();

  // Ends the communicator normally, unless it has ended already.
  void Finish();

 private:
  absl::Status ExplainInterruption(const Operation& operation, absl::Duration timeout,
                                   const CallFailure& failure) const;
  absl::Status ExplainPeerFailure(const Operation& operation, const Deadline& deadline,
                                  const CallFailure& failure, EndNotice* notice);
  EndedPeer AwaitEndedPeer(int ended, const Deadline& deadline);
  EndedPeer AwaitNotice(EndedPeer silent);
  std::vector<EndedPeer> EndedPeers();
  // Ends the use of the channels, with a notice unless `notice` is null. Returns false if that was
  // done before.
  bool EndChannels(const EndNotice* notice);
  std::vector<int> Peers() const;

  const Group group_;
  Interrupter* const interrupter_;
  const std::function<void()> close_;

  std::mutex mutex_;
  std::vector<EndNoticeChannel*> channels_;  // empty once the communicator has ended
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_COMMUNICATOR_TEARDOWN_H_
