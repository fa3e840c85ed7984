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
#include "client/src/protocol/effects.h"
#include "client/src/protocol/group_id.h"
#include "client/src/protocol/lifecycle.h"
#include "client/src/protocol/membership.h"
#include "client/src/protocol/outbox.h"
#include "client/src/protocol/pending_calls.h"
#include "client/src/protocol/session_state.h"

namespace muster::internal {

// Groups that the program lets go, so that both sides can forget them: docs/protocol.md, "How
// groups are forgotten". Tells the coordinator which groups are let go or closed, several of them
// together, and takes what it says of them. Pure: no I/O, no threads, no clock.
class GroupReleases {
 public:
  GroupReleases(const SessionState& session, const Lifecycle& lifecycle, Membership* membership,
                PendingCalls* calls, Outbox* outbox);
  GroupReleases(const GroupReleases&) = delete;
  GroupReleases& operator=(const GroupReleases&) = delete;

  // The program has one handle of the group less: see Membership::Drop().
  void Drop(SteadyTime now, const GroupId& group);
  // The member is in another epoch, whose groups are all new.
  void Reset();
  // The claim of an Attach has said all that there was to tell.
  void NoteClaimed();
  void TakeClosings(SteadyTime now, const v1::GroupsClosed& closings);

  // Why a collective of this group must not be sent yet, in the words of its time-out; empty if it
  // may be sent. It must wait until a group is settled: its own, or another one of the name.
  absl::string_view HeldUpBy(SteadyTime now, const MemberGroup& group);

  // Tells the coordinator what there is to tell, if it is time. Returns whether a call was begun.
  bool Tell(SteadyTime now);
  // When Tell() has something to do next; SteadyTime::max() if nothing is due.
  SteadyTime NextDeadline() const;

 private:
  struct Told {
    std::vector<std::pair<std::string, uint64_t>> groups;  // digests and numbers of news
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
  // What was under way in the group is not any more.
  void Restart(MemberGroup* group);

  const SessionState& session_;
  const Lifecycle& lifecycle_;
  Membership& membership_;
  PendingCalls& calls_;
  Outbox& outbox_;

  uint64_t latest_news_ = 0;
  size_t untold_news_ = 0;
  std::optional<SteadyTime> tell_at_;
  CallId telling_ = 0;                    // the call of the background that tells; 0: none does
  std::set<std::string> unknown_closed_;  // digests that are closed, and no group of this member
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_GROUP_RELEASES_H_
