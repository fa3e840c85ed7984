#ifndef MUSTER_SERVER_CORE_JOB_MEMBER_TABLE_H_
#define MUSTER_SERVER_CORE_JOB_MEMBER_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "common/names/node_names.h"
#include "server/core/api/activity.h"
#include "server/core/api/basic_types.h"
#include "server/core/api/requests.h"
#include "server/core/store/store.h"
#include "server/core/support/deadlines.h"

namespace muster::core {

class CollectiveGroup;

// One process that has attached, or that a claim has named. The table alone changes what it counts,
// or looks members up by. Other owners may change the public fields.
class Member {
 public:
  // `names` are the names of the job's nodes, and `store` is the job's store. Both must outlive
  // this object.
  Member(MemberIdentity member_identity, uint64_t arrival_number, const NodeNames* names,
         const store::Store* store, Time now)
      : identity(std::move(member_identity)),
        arrival(arrival_number),
        last_call(now),
        names_(names),
        store_(store) {}

  const MemberIdentity identity;
  const uint64_t arrival;  // numbers members in the order in which they became known

  // Returns text such as "rank 3 (host h, pid 4711)".
  std::string Describe() const;
  // Returns what it does: its activity, after its wait in the store if it has one and no call of it
  // is parked: "in the store for 41s (key 'k' has not been set), last completed Barrier('x') ...".
  std::string DescribeActivity(Time now) const;
  const Incarnation& incarnation() const { return identity.incarnation; }

  // The session, and its stream while that is open.
  const SessionId& session() const { return session_; }
  WaiterId stream() const { return stream_; }
  bool attached() const { return stream_ != 0; }
  // Returns whether only a claim has named it, so that this daemon has not heard from it.
  bool awaited() const { return session_.counter == 0; }

  // Its place and standing, if it is a member of the epoch.
  const std::optional<uint32_t>& rank() const { return rank_; }
  bool leaving() const { return leaving_; }  // whether it has called Leave
  bool left() const { return left_; }
  bool seeks() const { return seeks_; }  // whether it waits for a place in the next epoch
  const std::optional<Failure>& lost() const { return lost_; }
  bool gone() const { return left_ || lost_.has_value(); }
  // The exit, with status 0, of a process that has not attached to this daemon. Reported during a
  // recovery.
  const std::optional<ExitReport>& exit() const { return exit_; }
  // Returns whether it is here, or nothing more will be heard of it.
  bool accounted_for() const { return attached() || gone() || exit_.has_value(); }

  uint64_t attach_attempt = 0;
  uint64_t join_attempt = 0;
  // The contributions that its current session was asked for.
  std::set<std::pair<const CollectiveGroup*, uint64_t>> contributions_requested;
  // The attempts of deferred calls of its current session that were given up. Only these tell a
  // late duplicate of such a call from a new call.
  std::set<uint64_t> withdrawn_sends;

  // The fingerprint from its Join, and how far its clock was ahead of the coordinator's then.
  std::optional<Fingerprint> fingerprint;
  std::optional<absl::Duration> clock_ahead;

  // The attempt of its latest ReleaseGroups, and the attempt of its latest call that said which
  // groups it knows to be closed. Earlier sends may be to a group that is forgotten.
  uint64_t release_attempt = 0;
  uint64_t forgets_below = 0;

  // Whether its session may complete collectives on its node and report them later.
  bool commits_on_node = false;

  // For messages and the status.
  std::string cpus;                                    // as its latest Attach says
  std::shared_ptr<const std::string> last_collective;  // null before the first
  // whether it has sent a NodeCollective in this epoch
  bool sends_for_node = false;
  Activity activity;
  std::optional<Time> stopped_since;  // since when its launcher says that it is stopped (SIGSTOP)
  bool refused = false;               // whether it was refused a place
  Time last_call;

 private:
  friend class MemberTable;
  friend class ParkedCalls;

  // Its parked calls, in the order in which they came.
  struct ParkedIds {
    absl::InlinedVector<WaiterId, 2> all;
    WaiterId join = 0;
    WaiterId leave = 0;
  };

  const NodeNames* const names_;
  const store::Store* const store_;
  ParkedIds parked_;
  SessionId session_;
  WaiterId stream_ = 0;
  std::optional<uint32_t> rank_;
  bool leaving_ = false;
  bool left_ = false;
  bool seeks_ = false;
  std::optional<Failure> lost_;
  std::optional<ExitReport> exit_;
};

// The members: their sessions, streams and graces. Counts how many members of the epoch have each
// standing, so that no caller has to walk over all of them. Members of the epoch stay until the
// epoch is over, even if they are lost or have left. Other members stay only while they are there.
class MemberTable {
 public:
  // `store` must outlive this object.
  explicit MemberTable(const store::Store& store) : store_(store) {}

  // Counts of members. All but the last count members that have a rank.
  struct Counts {
    size_t attached = 0;
    size_t detached = 0;     // have no stream and have not left: they might still run
    size_t unaccounted = 0;  // see Member::accounted_for()
    size_t staying = 0;      // have not called Leave, and are not gone
    size_t leaving = 0;      // have called Leave
    size_t gone = 0;         // have left or were lost
    size_t rejoined = 0;     // are attached, and wait for a place in the next epoch
    size_t awaited = 0;      // have not rejoined, but are not gone
    size_t newcomers = 0;    // have no rank, are attached, and wait for a place

    // Returns the counts in the order above.
    std::array<size_t, 9> All() const {
      return {attached, detached, unaccounted, staying,  leaving,
              gone,     rejoined, awaited,     newcomers};
    }
  };

  size_t size() const { return members_.size(); }
  const Counts& counts() const { return counts_; }
  // Counts again, for tests.
  Counts Recount() const;
  // Returns the names of the members' nodes.
  const NodeNames& node_names() const { return node_names_; }
  bool any_attached() const { return !streams_.empty(); }

  // These return null if there is no such member.
  Member* Find(const Incarnation& incarnation) const;
  Member* FindBySession(uint64_t counter) const;  // by its current session
  Member* FindByStream(WaiterId stream) const;
  const absl::flat_hash_map<Incarnation, std::unique_ptr<Member>>& all() const { return members_; }

  Member* Add(const MemberIdentity& identity, Time now);
  // Deletes the member. Nothing may refer to it any more.
  void Remove(Member* member);

  // Makes this the member's session, and ends its grace.
  void StartSession(Member* member, const SessionId& session, WaiterId stream);
  // Ends the member's session and closes its stream. The member stays.
  void EndSession(Member* member);
  void CloseStream(Member* member);
  // Returns the open streams, sorted.
  std::vector<WaiterId> Streams() const;

  // Lets the member be lost at that time, unless it attaches again.
  void StartGrace(const Member& member, Time until);
  Time NextGrace() const { return graces_.Next(); }
  std::vector<Member*> TakeExpiredGraces(Time now);

  // These change the member's standing in the epoch.
  void SetRank(Member* member, uint32_t rank);
  void StartLeaving(Member* member);
  void MarkLeft(Member* member);
  void MarkLost(Member* member, Failure failure);
  void NoteExit(Member* member, const ExitReport& report);
  // Sets whether it waits for a place in the next epoch.
  void SetSeeks(Member* member, bool seeks);
  // Takes the member out of the epoch, and resets its standing.
  void LeaveEpoch(Member* member);

 private:
  template <class Change>
  void Update(Member* member, const Change& change) {
    Count(*member, -1);
    change(member);
    Count(*member, +1);
  }
  void Count(const Member& member, int by) { Count(member, by, &counts_); }
  static void Count(const Member& member, int by, Counts* counts);

  const store::Store& store_;
  NodeNames node_names_;  // members point to it
  absl::flat_hash_map<Incarnation, std::unique_ptr<Member>> members_;
  absl::flat_hash_map<uint64_t, Member*> sessions_;  // by the counter of the current session
  absl::flat_hash_map<WaiterId, Member*> streams_;   // open streams
  Deadlines<Incarnation> graces_;
  uint64_t arrivals_ = 0;
  Counts counts_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_JOB_MEMBER_TABLE_H_
