// Verdicts: one sentence for each state of a job and what its launchers have reported.

#include "server/core/diagnosis/verdict.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/core/verdict_job.h"

namespace muster::core {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Case {
  std::string name;
  RankObservation rank3;
  VerdictKind kind;
  std::string what;  // what rank 3 is doing
};

std::vector<Case> Conditions() {
  RankObservation for_long = Observation(3, ProcessCondition::kSleeping, "read", "/data/shard-7");
  for_long.in_call_for = absl::Minutes(4);
  RankObservation busy = Observation(3, ProcessCondition::kComputing);
  busy.cpu_percent = 99;
  RankObservation thread = busy;
  thread.thread = "thread 4712 ('loader')";
  RankObservation dead = Observation(3, ProcessCondition::kSleeping, "futex");
  dead.dead_lock = true;
  dead.blocked_by = "thread 105, which waits for thread 103";
  RankObservation held = Observation(3, ProcessCondition::kSleeping, "futex");
  held.blocked_by = "thread 105, which is in read() of /data/x";
  RankObservation disk =
      Observation(3, ProcessCondition::kUninterruptible, "fsync", "/mnt/checkpoint");
  disk.kernel_function = "folio_wait_bit_common";
  return {
      {"stopped", Observation(3, ProcessCondition::kStopped), VerdictKind::kStopped,
       "it is stopped; 'kill -CONT 103' continues it"},
      {"traced", Observation(3, ProcessCondition::kTraced), VerdictKind::kStopped,
       "a debugger holds it"},
      {"ended", Observation(3, ProcessCondition::kEnded), VerdictKind::kEnded,
       "its process has ended"},
      {"reads", for_long, VerdictKind::kInACall, "it is in read() of /data/shard-7 for 4m"},
      {"sleeps", Observation(3, ProcessCondition::kSleeping, "clock_nanosleep"),
       VerdictKind::kInACall, "it is in clock_nanosleep()"},
      {"busy", busy, VerdictKind::kBusy, "it computes (99 % of a processor)"},
      {"busy thread", thread, VerdictKind::kBusy,
       "its thread 4712 ('loader') computes (99 % of a processor)"},
      {"deadlock", dead, VerdictKind::kDeadLock,
       "deadlock: it waits for its thread 105, which waits for thread 103"},
      {"lock", held, VerdictKind::kInACall,
       "it is in futex(): it waits for its thread 105, which is in read() of /data/x"},
      {"full pipe",
       Observation(3, ProcessCondition::kSleeping, "write", "its standard output, a pipe"),
       VerdictKind::kFullPipe,
       "it is in write() of its standard output, a pipe, which is full: its reader does not read"},
      {"slow disk", disk, VerdictKind::kUninterruptible,
       "it is in fsync() of /mnt/checkpoint, which no signal ends (state D, at "
       "folio_wait_bit_common() in the kernel): a disk, a file system or a driver does not answer"},
      {"unknown", Observation(3, ProcessCondition::kUnknown), VerdictKind::kUnknown,
       "no launcher could inspect it"},
  };
}

TEST(VerdictTest, DescribesTheMissingRank) {
  for (const Case& c : Conditions()) {
    SCOPED_TRACE(c.name);
    const Verdict verdict = Judge(AllButRank3(), {c.rank3}, kBothAnswer);
    EXPECT_EQ(NameOf(verdict.kind), NameOf(c.kind));
    EXPECT_EQ(verdict.text, absl::StrCat("rank 3 (node 'n1', host h, pid 103) has not come to "
                                         "Barrier('step 812') op 812 of the world: ",
                                         c.what, kLast, "; 3 others wait for 5m"));
  }
}

TEST(VerdictTest, NamesTheLikeliestOfSeveralMissingRanks) {
  JobStatus job = Running(4);
  job.pending.push_back(Pending({0}, {1, 2, 3}));
  RankObservation busy = Observation(1, ProcessCondition::kComputing);
  const Verdict verdict = Judge(job,
                                {busy, Observation(2, ProcessCondition::kStopped),
                                 Observation(3, ProcessCondition::kSleeping, "read")},
                                kBothAnswer);
  EXPECT_EQ(verdict.kind, VerdictKind::kStopped);
  EXPECT_THAT(verdict.text,
              StartsWith("rank 2 (node 'n1', host h, pid 102) (one of ranks 1-3) has not come"));
  EXPECT_THAT(verdict.text, HasSubstr("; 1 other waits for 5m"));
}

TEST(VerdictTest, ASilentLauncherMeansThatItsNodeIsCutOff) {
  JobStatus job = AllButRank3();
  job.members[3].state = MemberState::kDetached;
  const Verdict verdict = Judge(job, {Observation(0, ProcessCondition::kSleeping)},
                                {{"n0", true}, {"n1", false, {NameOfProcess(3)}}});
  EXPECT_EQ(verdict.kind, VerdictKind::kSilentNode);
  EXPECT_THAT(verdict.text,
              HasSubstr("the launcher of node 'n1' does not answer: the node is down, "
                        "cut off from the network, or stopped; its connection has ended"));
}

TEST(VerdictTest, AnUnprovenLauncherDoesNotBlameItsNode) {
  const Verdict verdict = Judge(AllButRank3(), {}, {{"n1", false}});
  EXPECT_EQ(verdict.kind, VerdictKind::kUnknown);
}

TEST(VerdictTest, WithoutALauncherTheMembersActivityIsReported) {
  const Verdict verdict = Judge(AllButRank3(), {}, {});
  EXPECT_EQ(verdict.kind, VerdictKind::kUnknown);
  EXPECT_THAT(verdict.text, HasSubstr("no launcher runs on its node"));
  EXPECT_THAT(verdict.text, HasSubstr(kLast));
}

// Rank 3 is missing because it waits in another group's collective, in which rank 1 is missing.
TEST(VerdictTest, FollowsAWaitToItsOrigin) {
  JobStatus job = Running(4);
  job.pending.push_back(Pending({0, 2}, {1, 3}));
  PendingCollective other = Pending({3}, {1}, absl::Minutes(1));
  other.operation = "AllGather()";
  other.group = {"tp", {1, 3}};
  job.pending.push_back(other);
  const Verdict verdict = Judge(job,
                                {Observation(1, ProcessCondition::kStopped),
                                 Observation(3, ProcessCondition::kSleeping, "epoll_wait")},
                                kBothAnswer);
  EXPECT_EQ(verdict.kind, VerdictKind::kStopped);
  EXPECT_THAT(verdict.text, StartsWith("rank 1 "));
}

TEST(VerdictTest, RanksThatWaitForEachOtherInDifferentCallsAreNamedWithThem) {
  JobStatus job = Running(3);
  job.pending.push_back(Pending({0, 2}, {1}));
  PendingCollective other = Pending({1}, {0}, absl::Minutes(1));
  other.operation = "Broadcast(root 0)";
  other.sequence = 7;
  other.group = {"tp", {0, 1}};
  job.pending.push_back(other);
  const Verdict verdict = Judge(job, {}, {});
  EXPECT_EQ(verdict.kind, VerdictKind::kDifferentCalls);
  EXPECT_EQ(verdict.text,
            "ranks wait for each other in different calls: ranks 0,2 wait in Barrier('step 812') "
            "op 812 of the world, and rank 1 waits in Broadcast(root 0) op 7 of group 'tp' (ranks "
            "0-1); none of these calls can complete");
}

TEST(VerdictTest, ADisagreementIsReportedAsInItsError) {
  JobStatus job = Running(2);
  job.finished_groups.push_back(
      "op 3 of the world: rank 0 called Barrier('a'), rank 1 Barrier('b')");
  const Verdict verdict = Judge(job, {}, {});
  EXPECT_EQ(verdict.kind, VerdictKind::kDifferentCalls);
  EXPECT_EQ(verdict.text, job.finished_groups[0]);
}

TEST(VerdictTest, TheHolderOfALeaseIsBlamedForItsWaiters) {
  JobStatus job = Running(2);
  LeaseStatus lease;
  lease.name = "unpack";
  lease.scope = LeaseScope::kJob;
  lease.holder = job.members[1].member;
  lease.holder_rank = 1;
  lease.waiters = 1;
  lease.held_for = absl::Minutes(3);
  job.leases.push_back(lease);
  job.members[0].waiting_in = "lease 'unpack' of the job";
  const Verdict verdict =
      Judge(job, {Observation(1, ProcessCondition::kSleeping, "read", "/data/x")}, kBothAnswer);
  EXPECT_EQ(verdict.kind, VerdictKind::kInACall);
  EXPECT_THAT(verdict.text,
              StartsWith("rank 1 (node 'n0', host h, pid 101) has held lease 'unpack' "
                         "of the job for 3m: it is in read() of /data/x"));
}

// Returns the job of AllButRank3(), in which rank 3 waits in the store.
JobStatus Rank3InStore() {
  JobStatus job = AllButRank3();
  job.members[3].missing_in_store = "key 'k' has not been set";
  job.members[3].in_store_for = absl::Seconds(41);
  job.store_waits.push_back({"key 'k' has not been set", {3}, {}, 0, absl::Seconds(41)});
  return job;
}

TEST(VerdictTest, ARankThatWaitsInTheStoreIsBlamedWithWhatItLacks) {
  const std::string text = absl::StrCat(
      "rank 3 (node 'n1', host h, pid 103) has not come to Barrier('step 812') op 812 of the "
      "world: "
      "it has waited 41s in the store: key 'k' has not been set",
      kLast, "; 3 others wait for 5m");
  for (const RankObservation& seen : {Observation(3, ProcessCondition::kSleeping, "futex"),
                                      Observation(3, ProcessCondition::kSleeping, "epoll_wait"),
                                      Observation(3, ProcessCondition::kUnknown)}) {
    const Verdict verdict = Judge(Rank3InStore(), {seen}, kBothAnswer);
    EXPECT_EQ(NameOf(verdict.kind), "in-store");
    EXPECT_EQ(verdict.text, text);
  }
  EXPECT_EQ(Judge(Rank3InStore(), {}, {}).text, text);
}

// Another thread of the process waits in the store, or no thread runs.
TEST(VerdictTest, WhatElseHoldsARankUpCountsMoreThanItsWaitInTheStore) {
  const Verdict reads =
      Judge(Rank3InStore(), {Observation(3, ProcessCondition::kSleeping, "read", "/data/x")},
            kBothAnswer);
  EXPECT_EQ(reads.kind, VerdictKind::kInACall);
  EXPECT_THAT(reads.text, HasSubstr("it is in read() of /data/x (in the store for 41s (key 'k' has "
                                    "not been set), last completed "));
  EXPECT_EQ(Judge(Rank3InStore(), {Observation(3, ProcessCondition::kStopped)}, kBothAnswer).kind,
            VerdictKind::kStopped);
  EXPECT_EQ(Judge(Rank3InStore(), {}, {{"n1", false, {NameOfProcess(3)}}}).kind,
            VerdictKind::kSilentNode);
}

TEST(VerdictTest, IfRanksWaitOnlyInTheStoreARankThatDoesNotWaitIsNamed) {
  JobStatus job = Running(3);
  for (const uint32_t rank : {0, 1}) {
    job.members[rank].missing_in_store = "key 'k' has not been set";
    job.members[rank].in_store_for = absl::Seconds(41);
  }
  job.store_waits.push_back({"key 'k' has not been set", {0, 1}, {}, 0, absl::Seconds(41)});
  const std::string wait = "ranks 0-1 have waited 41s in the store: key 'k' has not been set";
  const std::string rank2 = "; rank 2 (node 'n1', host h, pid 102) does not wait: ";
  const Verdict busy = Judge(job, {Observation(2, ProcessCondition::kComputing)}, kBothAnswer);
  EXPECT_EQ(busy.kind, VerdictKind::kInStore);
  EXPECT_THAT(busy.text, StartsWith(absl::StrCat(wait, rank2, "it computes (0 % of a processor)")));
  const Verdict stopped = Judge(job, {Observation(2, ProcessCondition::kStopped)}, kBothAnswer);
  EXPECT_EQ(stopped.kind, VerdictKind::kStopped);
  EXPECT_THAT(stopped.text, StartsWith(absl::StrCat(wait, rank2, "it is stopped; ")));
  job.members[2].state = MemberState::kLeft;
  job.store_waits.push_back({"key 'j' has not been set", {1}, {}, 0, absl::Seconds(1)});
  EXPECT_EQ(Judge(job, {}, kBothAnswer).text, absl::StrCat(wait, "; 1 more wait in the store"));
}

// Programs of PyTorch do not use Muster. Their launchers wait in the store for them.
TEST(VerdictTest, TheWaitOfALauncherIsNamedBeforeAnyProcessJoins) {
  JobStatus job;
  job.world_size = 2;
  job.reason = "0 of 2 members have joined";
  job.store_waits.push_back(
      {"key 'default_pg/0' has not been set", {}, {"n0", "n1"}, 0, absl::Seconds(41)});
  EXPECT_THAT(Judge(job, {Observation(0, ProcessCondition::kSleeping, "futex")}, kBothAnswer).text,
              EndsWith("it is in futex(); the launchers of node 'n0', node 'n1' have waited 41s in "
                       "the store: key 'default_pg/0' has not been set"));
}

TEST(VerdictTest, ARankThatHasNotCalledLeaveIsNamed) {
  JobStatus job = Running(2);
  job.members[0].state = MemberState::kLeaving;
  job.members[0].waiting_in = "Leave";
  job.members[0].waiting_for = absl::Minutes(1);
  const Verdict verdict = Judge(job, {Observation(1, ProcessCondition::kComputing)}, kBothAnswer);
  EXPECT_EQ(verdict.kind, VerdictKind::kBusy);
  EXPECT_THAT(verdict.text, HasSubstr("has not called Leave: it computes"));
}

// Returns a job whose third member was lost. The others can go on when another process takes its
// place.
JobStatus Reforming() {
  JobStatus job = Running(3);
  job.state = JobState::kReforming;
  job.reason = "rank 2 was lost; the next epoch: 2 of 3 members are here, the least that may be";
  job.members[2].state = MemberState::kLost;
  for (int rank : {0, 1}) {
    job.members[rank].state = MemberState::kJoining;
    job.members[rank].waiting_in = "Rejoin";
    job.members[rank].waiting_for = absl::Minutes(1);
  }
  return job;
}

TEST(VerdictTest, IfAllSurvivorsHaveRejoinedTheMissingMembersAreReported) {
  const Verdict verdict =
      Judge(Reforming(), {Observation(0, ProcessCondition::kSleeping, "futex")}, kBothAnswer);
  EXPECT_EQ(verdict.kind, VerdictKind::kUnknown);
  EXPECT_EQ(verdict.text,
            "2 ranks wait in Rejoin, and no other rank is expected: rank 2 was lost; the next "
            "epoch: 2 of 3 members are here, the least that may be");
}

TEST(VerdictTest, ARankThatHasNotCalledRejoinIsNamed) {
  JobStatus job = Reforming();
  job.members[1].state = MemberState::kRunning;
  job.members[1].waiting_in = "";
  const Verdict verdict = Judge(job, {Observation(1, ProcessCondition::kComputing)}, kBothAnswer);
  EXPECT_EQ(verdict.kind, VerdictKind::kBusy);
  EXPECT_THAT(verdict.text, HasSubstr("has not called Rejoin: it computes"));
}

TEST(VerdictTest, InARecoveryTheAbsentRankIsDescribed) {
  JobStatus job = Running(2);
  job.state = JobState::kRecovering;
  job.reason = "the coordinator waits for 1 of 2 members to attach again: rank 1";
  job.members[1].state = MemberState::kAwaited;
  EXPECT_EQ(Judge(job, {}, {}).text, job.reason);
  EXPECT_EQ(NameOf(Judge(job, {}, {}).kind), "unknown") << "they do wait";
  EXPECT_EQ(NameOf(Judge(job, {}, {{"n0", false, {NameOfProcess(1)}}}).kind), "silent-node");
  const Verdict verdict = Judge(job, {Observation(1, ProcessCondition::kStopped)}, kBothAnswer);
  EXPECT_EQ(verdict.kind, VerdictKind::kStopped);
  EXPECT_EQ(verdict.text,
            "the coordinator waits for 1 of 2 members to attach again: rank 1; rank 1 (node 'n0', "
            "host h, pid 101): it is stopped; 'kill -CONT 101' continues it");
}

// ---- A job that has not formed ----

JobStatus Forming(uint32_t size, const std::vector<uint32_t>& joined) {
  JobStatus job;
  job.world_size = size;
  job.reason = absl::StrCat(joined.size(), " of ", size, " members have joined");
  for (uint32_t rank : joined) {
    MemberStatus member;
    member.member = {NameOfProcess(rank), 0, "n0", "h", 100 + rank};
    member.state = MemberState::kJoining;
    job.members.push_back(member);
  }
  return job;
}

TEST(VerdictTest, AProcessThatHasNotJoinedIsNamedByItsLauncher) {
  const Verdict verdict = Judge(Forming(2, {0}),
                                {Observation(0, ProcessCondition::kSleeping),
                                 Observation(1, ProcessCondition::kSleeping, "read", "/data/x")},
                                kBothAnswer);
  EXPECT_EQ(verdict.kind, VerdictKind::kInACall);
  EXPECT_EQ(verdict.text,
            "rank 1 (node 'n0', pid 101) has not called Join: it is in read() of /data/x; 1 of 2 "
            "members have joined");
}

// If no node was given an id, launchers use the host's name.
TEST(VerdictTest, ANodeWithoutAnIdIsNamedByItsHost) {
  JobStatus job = Forming(2, {0});
  job.members[0].member.node_id = "vm/58b986b6-87fa-4517-80b6-85a31b2c8f77";
  RankObservation late = Observation(1, ProcessCondition::kStopped);
  late.node = "vm";
  EXPECT_THAT(Judge(job, {late}, {{"vm", true}}).text,
              StartsWith("rank 1 (host vm, pid 101) has not called Join: "));
  job.members[0].state = MemberState::kJoining;
  EXPECT_THAT(Judge(job, {Observation(0, ProcessCondition::kSleeping)}, {{"vm", true}}).text,
              StartsWith("rank 1 was never started: launchers have answered on host vm only; "));
}

TEST(VerdictTest, IfTheProgramDoesNotUseMusterTheSlowestProcessIsNamed) {
  const Verdict verdict = Judge(Forming(2, {}),
                                {Observation(0, ProcessCondition::kSleeping, "write", "/dev/pts/3"),
                                 Observation(1, ProcessCondition::kComputing)},
                                kBothAnswer);
  EXPECT_EQ(verdict.kind, VerdictKind::kFullPipe);
  EXPECT_EQ(verdict.text,
            "2 processes run; none uses Muster (none has called Join); rank 0 (node 'n0', pid "
            "100): it is in write() of /dev/pts/3, which is full: its reader does not read");
}

// Its Join is parked, and waits for rank 1 as the others do.
TEST(VerdictTest, AMemberThatIsStoppedInItsJoinHasJoined) {
  JobStatus job = Forming(2, {0});
  job.members[0].state = MemberState::kStopped;
  job.members[0].waiting_in = "Join";
  const Verdict verdict = Judge(
      job,
      {Observation(0, ProcessCondition::kStopped), Observation(1, ProcessCondition::kComputing)},
      kBothAnswer);
  EXPECT_EQ(verdict.kind, VerdictKind::kBusy);
  EXPECT_THAT(verdict.text, StartsWith("rank 1 (node 'n0', pid 101) has not called Join: "));
}

TEST(VerdictTest, ADetachedMemberOfAFormingJobIsNamed) {
  JobStatus job = Forming(2, {0, 1});
  job.members[1].state = MemberState::kDetached;
  const Verdict verdict = Judge(job, {Observation(1, ProcessCondition::kComputing)}, kBothAnswer);
  EXPECT_EQ(verdict.kind, VerdictKind::kBusy);
  EXPECT_THAT(verdict.text,
              StartsWith("rank 1 (node 'n0', pid 101) has lost its connection to the coordinator, "
                         "and so has not joined: it computes"));
}

TEST(VerdictTest, RanksThatWereNeverStartedAreNamed) {
  const Verdict verdict = Judge(
      Forming(4, {0, 1}),
      {Observation(0, ProcessCondition::kSleeping), Observation(1, ProcessCondition::kSleeping)},
      {{"n0", true}});
  EXPECT_EQ(verdict.kind, VerdictKind::kNotStarted);
  EXPECT_EQ(
      verdict.text,
      "ranks 2-3 were never started: launchers have answered on node 'n0' only; 2 of 4 members "
      "have joined");
}

TEST(VerdictTest, ARankThatHasEndedBeforeItJoinedWasStarted) {
  JobStatus job = Running(2);
  job.state = JobState::kForming;
  job.reason = "1 of 2 members have joined";
  job.members.pop_back();
  job.members[0].state = MemberState::kJoining;
  job.members[0].rank.reset();
  const Verdict verdict = Judge(job,
                                {Observation(0, ProcessCondition::kSleeping, "futex"),
                                 Observation(1, ProcessCondition::kEnded)},
                                kBothAnswer);
  EXPECT_EQ(verdict.kind, VerdictKind::kEnded);
  EXPECT_EQ(verdict.text,
            "rank 1 (node 'n0', pid 101) has not called Join: its process has ended; 1 of 2 "
            "members have joined");
}

TEST(VerdictTest, TheLackOfLaunchersIsReported) {
  JobStatus job = Running(2);
  job.state = JobState::kForming;
  job.reason = "1 of 2 members have joined";
  EXPECT_EQ(Judge(job, {}, {}).text,
            "1 of 2 members have joined; no launcher (`muster run`) has answered");
}

TEST(VerdictTest, AProcessThatCannotEndAfterTheJobIsNamed) {
  JobStatus job = Running(2);
  job.state = JobState::kFinished;
  job.reason = "every member has left";
  const std::vector<RankObservation> seen = {Observation(0, ProcessCondition::kEnded),
                                             Observation(1, ProcessCondition::kStopped)};
  EXPECT_EQ(Judge(job, seen, kBothAnswer).text,
            "every member has left; rank 1 (node 'n0', host h, pid 101): it is stopped; 'kill "
            "-CONT 101' continues it");
}

TEST(VerdictTest, ReportsThatNoRankWaits) {
  const Verdict verdict =
      Judge(Running(2), {Observation(1, ProcessCondition::kSleeping, "read", "/x")}, kBothAnswer);
  EXPECT_EQ(verdict.kind, VerdictKind::kNothingWaits);
  EXPECT_THAT(verdict.text, HasSubstr("no rank waits for another one"));
  EXPECT_THAT(verdict.text, HasSubstr("it is in read() of /x"));
}

TEST(VerdictTest, ReportsWhyAJobIsOver) {
  JobStatus job = AllButRank3();
  job.state = JobState::kFailed;
  job.reason = "rank 1 was lost";
  EXPECT_EQ(Judge(job, {}, {}).text, "rank 1 was lost");
}

}  // namespace
}  // namespace muster::core
