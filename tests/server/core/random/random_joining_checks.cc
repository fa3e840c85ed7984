// The part of RandomJoining that checks the invariants.

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/server/core/random/random_joining.h"

namespace muster::core {
namespace {

bool Names(const std::string& text, const MemberIdentity& identity) {
  return absl::StrContains(text, absl::StrCat("pid ", identity.pid, ")"));
}

}  // namespace

void RandomJoining::Absorb() {
  for (Participant& participant : participants_) AbsorbEvents(participant);
  std::vector<Participant*> answered;
  for (Participant& participant : participants_) {
    if (participant.call != 0 && !h_.Parked(participant.call)) answered.push_back(&participant);
  }
  // Takes places first, since refusals may name their holders.
  std::stable_partition(answered.begin(), answered.end(), [this](Participant* participant) {
    return h_.StatusOf(participant->call).ok();
  });
  for (Participant* participant : answered) TakeAnswer(*participant, h_.ReplyTo(participant->call));
  for (Participant* participant : answered) participant->call = 0;
}

void RandomJoining::TakeAnswer(Participant& participant, const Reply& reply) {
  Trace(absl::StrCat("  pid ", participant.process.identity.pid, ": ", reply.status.ToString()));
  if (reply.status.ok()) {
    CheckPlace(participant, std::get<JoinAnswer>(reply.answer));
  } else {
    CheckRefusal(participant, reply.status);
  }
}

void RandomJoining::AbsorbEvents(Participant& participant) {
  if (!participant.connected) return;
  const auto events = h_.Events<EpochBroken>(participant.process.stream);
  for (; participant.events_seen < events.size(); ++participant.events_seen) {
    participant.broken |= events[participant.events_seen].epoch == participant.process.epoch;
  }
  const auto end = h_.EndOf(participant.process.stream);
  if (!end) return;
  Trace(absl::StrCat("pid ", participant.process.identity.pid,
                     ": its stream ends: ", end->ToString()));
  participant.connected = false;
  participant.dead = true;
}

void RandomJoining::CheckPlace(Participant& participant, const JoinAnswer& answer) {
  const auto [known, first] = epochs_.emplace(answer.epoch.nonce, answer.roster);
  ASSERT_LT(answer.rank, answer.roster->size());
  EXPECT_EQ((*answer.roster)[answer.rank].member.pid, participant.process.identity.pid)
      << "somebody else's place";
  EXPECT_EQ(known->second, answer.roster) << "one roster for all";
  if (first) {
    EXPECT_GT(answer.epoch.number, highest_epoch_) << "epoch numbers only grow";
    highest_epoch_ = answer.epoch.number;
    CheckFormed(*answer.roster);
  }
  participant.process.epoch = answer.epoch;
  participant.process.rank = answer.rank;
  participant.process.roster = answer.roster;
  participant.broken = false;
  participant.events_seen = 0;  // the end of this epoch may have been sent before
  AbsorbEvents(participant);
}

void RandomJoining::CheckFormed(const Roster& roster) {
  std::set<int64_t> members;
  for (const RosterEntry& entry : roster) {
    EXPECT_TRUE(members.insert(entry.member.pid).second) << "pid " << entry.member.pid << " twice";
    EXPECT_TRUE(ParticipantOf(entry.member).connected)
        << "pid " << entry.member.pid << " is not there";
  }
  if (elastic()) {
    EXPECT_GE(roster.size(), options_.min_world_size);
    EXPECT_LE(roster.size(), options_.max_world_size);
  }
  epochs_.size() > 1 ? CheckLaterEpoch(roster) : CheckFirstEpoch(roster);
}

void RandomJoining::CheckFirstEpoch(const Roster& roster) {
  std::set<uint32_t> sizes;
  if (!elastic()) sizes.insert(static_cast<uint32_t>(roster.size()));
  if (places() != 0) sizes.insert(places());
  for (const RosterEntry& entry : roster) {
    const uint32_t size = ParticipantOf(entry.member).request.world_size;
    if (size != 0) sizes.insert(size);
  }
  EXPECT_EQ(sizes.size(), 1u) << "world sizes disagree in a formed epoch";
  CheckRanksAskedFor(roster);
}

void RandomJoining::CheckRanksAskedFor(const Roster& roster) {
  const auto asks = [this](const RosterEntry& entry) {
    return ParticipantOf(entry.member).request.rank.has_value();
  };
  const auto asked = std::count_if(roster.begin(), roster.end(), asks);
  EXPECT_TRUE(asked == 0 || asked == static_cast<int64_t>(roster.size())) << "only some ask";
  if (asked == 0) return CheckNodes(roster);
  std::optional<uint32_t> last;
  for (uint32_t rank = 0; rank < roster.size(); ++rank) {
    const uint32_t request = ParticipantOf(roster[rank].member).request.rank.value_or(0);
    if (!elastic() || roster.size() == places()) {
      EXPECT_EQ(request, rank) << "asked for";
    }
    EXPECT_TRUE(!last || request > *last) << "rank " << request << " is asked for twice";
    last = request;
  }
}

// Checks that the ranks of a node are contiguous, that nodes are in the order of their node ranks,
// and the members of a node in the order of their local ranks.
void RandomJoining::CheckNodes(const Roster& roster) {
  std::set<std::string> seen;
  int64_t last_local = -1;
  uint32_t last_node = 0;
  for (size_t i = 0; i < roster.size(); ++i) {
    const std::string& node = roster[i].member.node_id;
    const JoinRequest& request = ParticipantOf(roster[i].member).request;
    if (i == 0 || node != roster[i - 1].member.node_id) {
      EXPECT_TRUE(seen.insert(node).second) << node << " is in two pieces";
      last_local = -1;
    }
    EXPECT_TRUE(!request.local_rank || *request.local_rank > last_local)
        << "local rank " << *request.local_rank << " of " << node << " after " << last_local;
    if (request.local_rank) last_local = *request.local_rank;
    if (style_ != Style::kNodeRanks) continue;
    EXPECT_GE(request.node_rank.value_or(last_node), last_node) << "node ranks";
    last_node = request.node_rank.value_or(last_node);
  }
}

void RandomJoining::CheckLaterEpoch(const Roster& roster) {
  std::optional<uint32_t> last;
  std::set<uint32_t> requested_ranks;
  for (const RosterEntry& entry : roster) {
    if (!entry.previous_rank) continue;
    EXPECT_TRUE(!last || *entry.previous_rank > *last) << "survivors keep their order";
    last = entry.previous_rank;
  }
  EXPECT_TRUE(roster[0].previous_rank || !last) << "rank 0 is no survivor, though there is one";
  EXPECT_TRUE(last || roster.size() == places()) << "nobody has survived, and places are free";
  for (const RosterEntry& entry : roster) {
    const JoinRequest& request = ParticipantOf(entry.member).request;
    if (entry.previous_rank || !request.rank || *request.rank >= roster.size()) continue;
    EXPECT_TRUE(requested_ranks.insert(*request.rank).second)
        << "rank " << *request.rank << " is asked for twice";
    const RosterEntry& there = roster[*request.rank];
    EXPECT_TRUE(there.previous_rank || ParticipantOf(there.member).request.rank == request.rank)
        << "rank " << *request.rank << " is vacant, and went to one that did not ask for it";
  }
}

// ---- Refusals ----

void RandomJoining::CheckRefusal(const Participant& participant, const absl::Status& status) {
  const std::string text(status.message());
  switch (status.code()) {
    case absl::StatusCode::kAlreadyExists:
      return CheckTaken(participant, text);
    case absl::StatusCode::kAborted:
      return absl::StrContains(text, "the job has failed") ? CheckState(text)
                                                           : CheckLost(participant, text);
    case absl::StatusCode::kFailedPrecondition:
      return CheckState(text);
    case absl::StatusCode::kDeadlineExceeded:
      EXPECT_GE(h_.now(), participant.called + participant.timeout)
          << "pid " << participant.process.identity.pid;
      return;
    case absl::StatusCode::kInvalidArgument:
      return CheckRequest(participant, text);
    case absl::StatusCode::kUnavailable:
      return CheckInDoubt(participant, text);
    default:
      ADD_FAILURE() << "pid " << participant.process.identity.pid << " must not be told " << status;
  }
}

// Checks that other members, or the daemon's flags, rule out what the process asks for.
void RandomJoining::CheckRequest(const Participant& participant, const std::string& text) {
  if (absl::StrContains(text, "world sizes disagree")) {
    EXPECT_TRUE(absl::StrContains(text, absl::StrCat("expects ", participant.request.world_size)))
        << text;
    EXPECT_TRUE(Names(text, participant.process.identity)) << text;
    return;
  }
  if (absl::StrContains(text, "either every member asks for a rank or none does")) {
    const Participant* other = OtherNamed(participant, text);
    ASSERT_NE(other, nullptr) << text;
    EXPECT_NE(other->request.rank.has_value(), participant.request.rank.has_value()) << text;
    return;
  }
  CheckRange(participant.request, text);
}

// Checks that a number is too large for the size that the text names.
void RandomJoining::CheckRange(const JoinRequest& request, const std::string& text) {
  const size_t where = text.find("the job has ");
  ASSERT_NE(where, std::string::npos) << text;
  const uint32_t size = static_cast<uint32_t>(std::stoul(text.substr(where + 12)));
  const auto most = std::max({request.rank, request.local_rank, request.node_rank});
  EXPECT_GE(most.value_or(0), size) << text;
}

// Checks that the text names both processes, and that the other one has the place.
void RandomJoining::CheckTaken(const Participant& participant, const std::string& text) {
  EXPECT_TRUE(Names(text, participant.process.identity)) << text;
  const Participant* holder = OtherNamed(participant, text);
  ASSERT_NE(holder, nullptr) << text;
  const bool has_it =
      holder->process.epoch.number != 0 && holder->process.rank == participant.request.rank;
  EXPECT_TRUE(has_it || (holder->call != 0 && SamePlace(participant, *holder)))
      << "nobody is there: " << text;
}

// Checks that another process is a member, and has lost its connection.
void RandomJoining::CheckInDoubt(const Participant& participant, const std::string& text) {
  const Participant* holder = OtherNamed(participant, text);
  ASSERT_NE(holder, nullptr) << text;
  EXPECT_EQ(holder->process.rank, participant.request.rank) << text;
  EXPECT_FALSE(holder->connected) << text;
}

// Checks that there is a reason why the process is told that it was lost: an event that it
// suffered, or another process in its place.
void RandomJoining::CheckLost(const Participant& participant, const std::string& text) {
  EXPECT_TRUE(participant.disturbed || participant.process.epoch.number != 0)
      << "pid " << participant.process.identity.pid << " is fine: " << text;
  if (!absl::StrContains(text, "replaced by")) return;
  const Participant* newer = OtherNamed(participant, text);
  ASSERT_NE(newer, nullptr) << text;
  EXPECT_TRUE(SamePlace(participant, *newer)) << text;
}

void RandomJoining::CheckState(const std::string& text) {
  if (absl::StrContains(text, "the launcher of a node has given up its ranks: it was killed")) {
    EXPECT_TRUE(!elastic() && epochs_.empty()) << text;
    EXPECT_TRUE(given_up_ && h_.now() >= *given_up_ + absl::Seconds(5)) << text;
    return;
  }
  EXPECT_FALSE(epochs_.empty()) << "no epoch has formed: " << text;
}

// ---- The whole job ----

bool RandomJoining::Waits(const Participant& participant) const {
  return participant.connected && participant.call != 0 && h_.Parked(participant.call);
}

bool RandomJoining::SamePlace(const Participant& a, const Participant& b) {
  if (a.request.rank && a.request.rank == b.request.rank) return true;
  return a.request.local_rank && a.request.local_rank == b.request.local_rank &&
         a.process.identity.node_id == b.process.identity.node_id;
}

void RandomJoining::CheckProgress() {
  CheckConflicts();
  CheckReforming();
  CheckGivenUp();
  if (elastic() || !epochs_.empty()) return;
  std::vector<const Participant*> waiting;
  uint32_t size = options_.world_size;
  for (const Participant& participant : participants_) {
    if (!Waits(participant)) continue;
    waiting.push_back(&participant);
    size = std::max(size, participant.request.world_size);
  }
  for (const Participant* a : waiting) {
    for (const Participant& b : participants_) {  // until one is refused, or is lost
      if (a != &b && b.call != 0 && SamePlace(*a, b)) return;
    }
  }
  EXPECT_TRUE(size == 0 || waiting.size() < size) << "all are here, and no epoch forms";
}

// Checks that of two processes that wait for one place, one is refused within the grace.
void RandomJoining::CheckConflicts() {
  for (const Participant& a : participants_) {
    for (const Participant& b : participants_) {
      if (&a == &b || !Waits(a) || !Waits(b) || a.rejoins || b.rejoins || !SamePlace(a, b))
        continue;
      EXPECT_LE(h_.now(), std::max(a.called, b.called) + options_.member_grace)
          << "pids " << a.process.identity.pid << " and " << b.process.identity.pid
          << " wait for one place";
    }
  }
}

// Checks that a broken epoch is followed in time by another one, or by the end of the job.
void RandomJoining::CheckReforming() {
  const bool reforming = h_.coordinator().GetStatus(h_.now()).state == JobState::kReforming;
  if (!reforming || epochs_.size() != reforming_from_) reforming_since_.reset();
  if (!reforming) return;
  if (!reforming_since_) reforming_since_ = h_.now();
  reforming_from_ = epochs_.size();
  EXPECT_LE(h_.now(), *reforming_since_ + options_.rejoin_timeout + options_.settle)
      << "the job neither forms an epoch nor fails";
}

// Checks that no process waits for a place that no other process will take.
void RandomJoining::CheckGivenUp() {
  if (elastic() || !epochs_.empty() || !missed_) return;
  if (h_.now() < *missed_ + absl::Seconds(5)) return;
  EXPECT_EQ(h_.coordinator().GetStatus(h_.now()).state, JobState::kFailed);
}

const RandomJoining::Participant& RandomJoining::ParticipantOf(
    const MemberIdentity& identity) const {
  return *std::find_if(participants_.begin(), participants_.end(),
                       [&](const Participant& participant) {
                         return participant.process.identity.incarnation == identity.incarnation;
                       });
}

const RandomJoining::Participant* RandomJoining::OtherNamed(const Participant& participant,
                                                            const std::string& text) const {
  for (const Participant& other : participants_) {
    if (&other != &participant && Names(text, other.process.identity)) return &other;
  }
  return nullptr;
}

}  // namespace muster::core
