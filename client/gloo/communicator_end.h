#ifndef MUSTER_CLIENT_GLOO_COMMUNICATOR_END_H_
#define MUSTER_CLIENT_GLOO_COMMUNICATOR_END_H_

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/gloo/collectives/operation.h"
#include "client/gloo/connections/interruptor.h"
#include "client/gloo/endings/end_channel.h"
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
// tests/client/gloo/communicator_end_test.cc.
//
// The order matters. A peer notices when connections close, and then looks for the reason. So
// Close() first sends the last words and closes the connections afterwards:
//
//   rank 1 fails, tells rank 2 "rank 1: time-out", and closes.
//   Rank 2 sees a broken connection, finds the words, reports "rank 1: time-out", and passes it on.
class CommunicatorEnd {
 public:
  // `close` drops this rank's connections and memory. It runs after the peers were told, since they
  // notice it.
  CommunicatorEnd(const Group& group, Interruptor* interruptor, std::function<void()> close);

  // Adds a channel and watches it from now on. Peers that both this channel and earlier ones reach
  // are told on this one. `close` may destroy the channel. From the first Add() on, the
  // interruptor's thread calls Patrol() while an operation is in progress.
  void Add(EndChannel* channel);

  // Raises the interruptor with UNAVAILABLE if a peer has failed. Needed because Gloo does not wake
  // an operation whose connection broke in the middle of a message. Any thread may call this.
  void Patrol();

  // Ends the communicator after an operation that did not complete. Returns the operation's error,
  // and raises the interruptor with it. Blocks until the peer to blame is known; if that peer died
  // without a word, also until the job has had time to report it lost.
  absl::Status Fail(const Operation& operation, const Deadline& deadline,
                    const CallFailure& failure);

  // Ends the communicator normally, unless it has ended already.
  void Finish();

 private:
  absl::Status ExplainInterruption(const Operation& operation, absl::Duration timeout,
                                   const CallFailure& failure) const;
  absl::Status ExplainBreak(const Operation& operation, const Deadline& deadline,
                            const CallFailure& failure, PeerEnd* words);
  EndedPeer AwaitCulprit(int ended, const Deadline& deadline);
  std::vector<EndedPeer> EndedPeers();
  void Close(const PeerEnd* words);
  std::vector<int> Peers() const;

  const Group group_;
  Interruptor* const interruptor_;
  const std::function<void()> close_;

  std::mutex mutex_;
  std::vector<EndChannel*> channels_;  // empty once the communicator has ended
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_COMMUNICATOR_END_H_
