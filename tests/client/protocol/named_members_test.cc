// Tests of what the SDK reads from the coordinator's errors. tests/client/daemon compares with the
// texts of a real one.

#include "client/src/protocol/messages/named_members.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "client/src/base/error_note.h"

namespace muster::internal {
namespace {

// The place of a member among 4: rank r is process 70 + r on node "n<r>".
const v1::JoinResponse& Place() {
  static const auto* const place = [] {
    auto* made = new v1::JoinResponse();
    for (int rank = 0; rank < 4; ++rank) {
      v1::MemberIdentity* member = made->add_roster()->mutable_member();
      member->set_node_id(absl::StrCat("n", rank));
      member->set_pid(70 + rank);
    }
    return made;
  }();
  return *place;
}

std::string Lost(const std::string& text, const v1::JoinResponse* place = &Place()) {
  return EncodeNote(NoteOf(WithNamedMembers(absl::AbortedError(text), place)));
}

std::string TimedOut(const std::string& text, const v1::JoinResponse* place = &Place(),
                     const std::string& operation = "") {
  return EncodeNote(NoteOf(WithNamedMembers(absl::DeadlineExceededError(text), place, operation)));
}

TEST(NamedMembersTest, ALossHasItsCause) {
  const std::string text =
      "job 'j': rank 2 (node 'n2', host h, pid 72) was lost at 12:00:01.500Z: killed by signal 9 "
      "(SIGKILL); in Barrier('x') op 3 of the world for 2s";
  const std::string facts = "rank=2 node=n2 pid=72 missing=2 cause=killed by signal 9 (SIGKILL)";
  EXPECT_EQ(Lost(text), facts);
  EXPECT_EQ(Lost(text, nullptr), facts) << "a process that has no place yet";
  EXPECT_EQ(Lost(absl::StrCat(text, "; also lost: ranks 0,3")),
            "rank=2 node=n2 pid=72 missing=0,2-3 cause=killed by signal 9 (SIGKILL)");
  EXPECT_EQ(
      Lost("the job has failed: rank 0 (host h, pid 70) was lost at 12:00:01.500Z: ended with "
           "0 without Leave(); call job->Leave() before main returns; no call so far"),
      "rank=0 node=n0 pid=70 missing=0 cause=ended with 0 without Leave(); call job->Leave() "
      "before main returns");
  EXPECT_EQ(
      Lost("job 'j': this process, rank 1 (host h, pid 71), was lost: replaced by a newer "
           "process, rank 1 (host h, pid 99)"),
      "rank=1 node=n1 pid=71 missing=1 cause=replaced by a newer process, rank 1 (host h, pid "
      "99)");
}

TEST(NamedMembersTest, ALostRankMayHaveBeenInTheSameCall) {
  const std::string operation = "Barrier('x') op 3 of the world";
  const absl::Status lost = absl::AbortedError(absl::StrCat(
      "job 'j': rank 2 (host h, pid 72) was lost at 12:00:01.500Z: exited with status 1; "
      "in ",
      operation, " for 2s"));
  EXPECT_EQ(EncodeNote(NoteOf(WithNamedMembers(lost, &Place(), operation))),
            "rank=2 node=n2 pid=72 missing=2 cause=exited with status 1");
}

TEST(NamedMembersTest, OtherErrorsNameAMemberWithoutACause) {
  EXPECT_EQ(Lost("rank 1 (node 'n1', host h, pid 71) asked for a new epoch; call Rejoin"),
            "rank=1 node=n1 pid=71");
  EXPECT_EQ(Lost("epoch 5 is not the current one, 6; join again"), "");
  EXPECT_EQ(Lost("ranks 0-2 called Barrier(), rank 3 called Broadcast(root 0)"), "");
}

TEST(NamedMembersTest, ATimeOutHasAllMissingRanks) {
  EXPECT_EQ(
      TimedOut("Barrier() op 1 of the world waited 2s; missing 2 of 4: ranks 1,3; rank 1 (node "
               "'n1', host h, pid 71), no call so far; rank 3 (host h, pid 73), no call so far"),
      "rank=1 node=n1 pid=71 missing=1,3");
  EXPECT_EQ(
      TimedOut("Barrier() op 1 of the world waited 2s; missing 1 of 4: rank 3 (node 'n3', host "
               "h, pid 73), detached, no call so far; arrived and stopped waiting: ranks 0-1"),
      "rank=3 node=n3 pid=73 missing=3");
  EXPECT_EQ(
      TimedOut("Barrier() waited 2s; all 4 arrived, but some of them have stopped waiting: rank "
               "2 (node 'n2', host h, pid 72), no call so far"),
      "rank=2 node=n2 pid=72");
  EXPECT_EQ(TimedOut("Leave waited 1s; not leaving yet: ranks 0-1; rank 0 (host h, pid 70), in x; "
                     "this process now counts as lost"),
            "rank=0 node=n0 pid=70 missing=0-1");
  EXPECT_EQ(
      TimedOut("waited 1s; the coordinator was restarted and waits for 2 of 4 members to attach "
               "again: ranks 2-3; rank 2 (host h, pid 72), rank 3 (host h, pid 73)"),
      "rank=2 node=n2 pid=72 missing=2-3");
  EXPECT_EQ(
      TimedOut("waited 1s for members: 1 of 3 have joined; missing: ranks 0,2; present: rank 1 "
               "(host h, pid 71); check that every process was started",
               nullptr),
      "rank=0 missing=0,2");
  EXPECT_EQ(TimedOut("waited 1s for members: 1 of 3 have joined; present: rank 1 (host h, pid 71); "
                     "check that every process was started",
                     nullptr),
            "");
  EXPECT_EQ(
      TimedOut("lease 'x' of the job waited 1s; held by rank 1 (node 'n1', host h, pid 71) for "
               "2s under token 7"),
      "rank=1 node=n1 pid=71");
}

TEST(NamedMembersTest, ARejoinMayNameProcessesOfTheNextEpoch) {
  const auto named = [](const std::string& text) {
    return EncodeNote(NoteOf(WithNamedProcesses(absl::AbortedError(text), &Place())));
  };
  EXPECT_EQ(named("rank 2 (host h, pid 99) was lost at 12:00:01.500Z: replaced by a newer process, "
                  "rank 2 (host h, pid 72)"),
            "rank=2 node=h pid=99 missing=2 cause=replaced by a newer process, rank 2 (host h, pid "
            "72)");
  EXPECT_EQ(named("rank 2 (host h, pid 72) has called Leave"), "rank=2 node=n2 pid=72");
  EXPECT_EQ(
      EncodeNote(NoteOf(WithNamedProcesses(
          absl::DeadlineExceededError("waited 1s for the next epoch: 3 of 4; not yet rejoined: "
                                      "ranks 1,9; rank 1 (host h, pid 71), no call so far"),
          &Place()))),
      "rank=1 node=n1 pid=71 missing=1,9");
}

TEST(NamedMembersTest, LabelsOfTheProgramNameNobody) {
  const std::string label = "x; missing 1 of 4: rank 2 (node 'n2', host h, pid 72)";
  const std::string operation = absl::StrCat("Barrier('", label, "') op 1 of the world");
  EXPECT_EQ(
      TimedOut(absl::StrCat("job 'j': ", operation, " waited 2s; missing 1 of 4: rank 0 (node ",
                            "'n0', host h, pid 70), no call so far"),
               &Place(), operation),
      "rank=0 node=n0 pid=70 missing=0");
  EXPECT_EQ(Lost("Barrier('rank 2 (host h, pid 9999)') of rank 1 (host h, pid 71)"),
            "rank=1 node=n1 pid=71")
      << "that is no member of the job";
}

TEST(NamedMembersTest, TextsThatAreNotTheCoordinatorsAreLeftAlone) {
  for (const std::string text :
       {"rank ", "rank 2", "rank 2 (", "rank 2 (host ", "rank 2 (host h, pid ",
        "rank 2 (host h, pid 72", "rank 9 (host h, pid 72)", "rank 99999999999 (host h, pid 72)",
        "rank -1 (host h, pid 72)"}) {
    EXPECT_EQ(Lost(text), "") << text;
    EXPECT_EQ(TimedOut(text), "") << text;
  }
  for (const std::string list :
       {"rank 9;", "ranks 7-8; ", "ranks ", "ranks 3,1;", "nobody", "ranks 0-99999999999;"}) {
    EXPECT_EQ(TimedOut(absl::StrCat("x waited 2s; missing 1 of 4: ", list)), "") << list;
  }
  EXPECT_EQ(Lost("rank 2 (host h, pid 72) was lost at"), "rank=2 node=n2 pid=72");
  EXPECT_EQ(WithNamedMembers(absl::OkStatus(), nullptr), absl::OkStatus());
}

}  // namespace
}  // namespace muster::internal
