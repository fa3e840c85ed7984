#ifndef MUSTER_CLIENT_GLOO_COMMUNICATOR_END_H_
#define MUSTER_CLIENT_GLOO_COMMUNICATOR_END_H_

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/gloo/end_channel.h"
#include "client/gloo/interruptor.h"
#include "client/gloo/operation.h"
#include "client/src/base/deadline.h"
#include "muster/group.h"

namespace muster::internal {

// What stopped an operation that did not complete.
struct CallFailure {
  std::string reason;        // Gloo's; empty if no connection failed under the operation
  std::vector<int> awaited;  // the ranks that the operation waited for, where known
  int ended = -1;            // the rank that the operation saw to have ended, where there is one
};

// The end of one rank's communicator. Finds out why an operation stopped and which peer is to
// blame, tells the other peers, and closes what connects this rank to them.
class CommunicatorEnd {
 public:
  // `close` drops this rank's connections and memory. Peers notice, so it runs after they are told.
  CommunicatorEnd(const Group& group, Interruptor* interruptor, std::function<void()> close);

  // Listens to peers on `channel` from now on. Peers that it reaches are told on it in place of the
  // channels that were added before. `close` may destroy it. While an operation is in progress the
  // interruptor's thread calls Patrol() from now on.
  void Add(EndChannel* channel);

  // Raises the interruptor with UNAVAILABLE if a peer has failed: Gloo does not tell an operation
  // in the middle of a message that its connection broke. From any thread.
  void Patrol();

  // Ends the communicator after an operation that did not complete, and returns the operation's
  // error, with which the interruptor is raised. Blocks until the peer to blame is known, and until
  // the job would know of its loss.
  absl::Status Fail(const Operation& operation, const Deadline& deadline,
                    const CallFailure& failure);

  // Ends the communicator in the normal course, unless it has ended.
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
  std::vector<EndChannel*> channels_;  // none once the communicator has ended
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_COMMUNICATOR_END_H_
