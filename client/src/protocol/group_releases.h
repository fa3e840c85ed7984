#ifndef MUSTER_CLIENT_SRC_PROTOCOL_GROUP_RELEASES_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_GROUP_RELEASES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/src/base/steady_clock.h"
#include "client/src/protocol/groups/membership.h"
#include "client/src/protocol/lifecycle.h"
#include "client/src/protocol/messages/effects.h"
#include "client/src/protocol/messages/group_id.h"
#include "client/src/protocol/messages/outbox.h"
#include "client/src/protocol/messages/session_state.h"
#include "client/src/protocol/pending_calls.h"

namespace muster::internal {

// The groups that the program has released, so that both sides can forget them:
// docs/protocol-failure.md, "How groups are forgotten". Tells the coordinator in batches which
// groups are released or closed, and applies its answers. Pure: no I/O, no threads, no clock.
class GroupReleases {
 public:
  GroupReleases(const SessionState& session, const Lifecycle& lifecycle, Membership* membership,
                PendingCalls* calls, Outbox* outbox);
  GroupReleases(const GroupReleases&) = delete;
  GroupReleases& operator=(const GroupReleases&) = delete;

  // Drops one handle of the group: see Membership::Drop().
  void Drop(SteadyTime now, const GroupId& group);
  // Starts again for another epoch, whose groups are all new.
  void Reset();
  // Notes that the claim of an Attach has told everything.
  void NoteClaimed();
  void TakeClosings(SteadyTime now, const v1::GroupsClosed& closings);

  // Returns why a collective of this group must not be sent yet, as its time-out words it; empty if
  // it may be sent. It waits until an earlier life of the group, or another group of its name, is
  // settled.
  absl::string_view HeldUpBy(SteadyTime now, const MemberGroup& group);

  // Tells the coordinator what is due. Returns whether a call began.
  bool Tell(SteadyTime now);
  // Returns when Tell() has something to do next, or SteadyTime::max().
  SteadyTime NextDeadline() const;

 private:
  struct Told {
    std::vector<std::pair<std::string, uint64_t>> groups;  // digests, and the numbers of their news
    std::vector<std::string> unknown;
  };

  void NoteNews(SteadyTime now, MemberGroup* group);
  void TellBy(SteadyTime when);
  bool CanTell() const;
  bool HasNews() const;
  Request MakeNews(Told* told) const;
  void FinishTelling(const Told& told, const PendingCall& call,
                     const absl::StatusOr<Response>& reply);
  void TakeClosed(SteadyTime now, const std::string& digest);
  void TakeSettled(MemberGroup* group);
  // Ends what was in progress in an earlier life of the group.
  void Restart(MemberGroup* group);

  const SessionState& session_;
  const Lifecycle& lifecycle_;
  Membership& membership_;
  PendingCalls& calls_;
  Outbox& outbox_;

  uint64_t latest_news_ = 0;
  size_t untold_news_ = 0;
  std::optional<SteadyTime> tell_at_;
  CallId telling_ = 0;  // the background call that tells the coordinator; 0 if there is none
  std::set<std::string> unknown_closed_;  // digests of closed groups that this member does not have
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_GROUP_RELEASES_H_
