// Tests of the note that an error carries for programs: whom it names, and the exit code.

#include "muster/error_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/cord.h"
#include "client/src/base/error_note.h"
#include "client/src/base/outcome.h"
#include "muster/exit_code.h"

namespace muster::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;

ErrorNote Full() {
  ErrorNote note;
  note.exit_code = 75;
  note.facts.rank = 3;
  note.facts.node = "gpu-7";
  note.facts.pid = 4411;
  note.facts.missing_ranks = {3, 8, 9, 10};
  note.facts.cause = "killed by signal 9 (SIGKILL)";
  return note;
}

// Returns the text of the note of `text`, which is `text` if it is one.
std::string Again(const std::string& text) { return EncodeNote(DecodeNote(text)); }

TEST(ErrorFactsTest, AnErrorOfTheProgramNamesNobody) {
  for (const absl::Status& status : {absl::OkStatus(), absl::AbortedError("rank 3 was lost")}) {
    const ErrorFacts facts = FactsOf(status);
    EXPECT_FALSE(facts.rank || facts.pid);
    EXPECT_EQ(facts.node + facts.cause, "");
    EXPECT_THAT(facts.missing_ranks, IsEmpty());
  }
}

TEST(ErrorFactsTest, AreOneReadablePayload) {
  const absl::Status lost = WithNote(absl::AbortedError("rank 3 was lost"), Full());
  EXPECT_EQ(lost.ToString(),
            "ABORTED: rank 3 was lost [muster.error='exit=75 rank=3 node=gpu-7 pid=4411 "
            "missing=3,8-10 cause=killed by signal 9 (SIGKILL)']");
  EXPECT_EQ(CodeAndText(lost), "ABORTED: rank 3 was lost");
  const ErrorFacts facts = FactsOf(lost);
  EXPECT_EQ(facts.rank, 3);
  EXPECT_EQ(facts.node, "gpu-7");
  EXPECT_EQ(facts.pid, 4411);
  EXPECT_EQ(facts.cause, "killed by signal 9 (SIGKILL)");
  EXPECT_THAT(facts.missing_ranks, ElementsAre(3, 8, 9, 10));
  EXPECT_EQ(ExitCode(lost), 75);
}

TEST(ErrorFactsTest, EveryFieldMayBeAbsent) {
  EXPECT_EQ(EncodeNote(ErrorNote()), "");
  for (const std::string text : {"rank=0", "node=n pid=1", "missing=0", "cause=x", "exit=76",
                                 "lost-peer=maybe", "exit=1 rank=2 lost-peer=maybe cause= a  b "}) {
    EXPECT_EQ(Again(text), text);
  }
}

TEST(ErrorFactsTest, AnyNodeAndCauseSurvive) {
  for (const std::string& hostile :
       {std::string("a b"), std::string("rank=9 pid=1"), std::string("%"), std::string("%20"),
        std::string("'] [x='"), std::string("\n\t\x7f"), std::string(" "), std::string("a\0b", 3),
        std::string("\xff\xc3\xa9"), std::string("cause=x"), std::string("=")}) {
    ErrorNote note = Full();
    note.facts.node = hostile;
    note.facts.cause = hostile;
    const ErrorNote read = NoteOf(WithNote(absl::AbortedError("x"), note));
    EXPECT_EQ(read.facts.node, hostile);
    EXPECT_EQ(read.facts.cause, hostile);
    EXPECT_EQ(read.facts.rank, 3);
    EXPECT_THAT(EncodeNote(note), ::testing::Not(::testing::HasSubstr("\n")));
  }
}

TEST(ErrorFactsTest, AnythingElseIsNoNote) {
  for (const std::string text :
       {"rank=",       "rank=x",        "rank=03",          "rank=3 ",
        " rank=3",     "rank=3 rank=4", "pid=1 rank=3",     "rank=99999999999",
        "node=",       "node=a%2",      "node=a%zz",        "node=%41",
        "missing=",    "missing=2,1",   "missing=1-",       "missing=0-999999999",
        "missing=1,2", "missing=1,...", "lost-peer=maybe2", "cause=",
        "cause=\n",    "cause=%41",     "else=1",           "rank=3 else"}) {
    absl::Status status = absl::AbortedError("x");
    status.SetPayload("muster.error", absl::Cord(text));
    EXPECT_EQ(EncodeNote(NoteOf(status)), "") << text;
    EXPECT_EQ(ExitCode(status), 75);
  }
}

TEST(ErrorFactsTest, TheFirstFactsAndTheFirstExitCodeCount) {
  ErrorFacts later;
  later.rank = 5;
  const absl::Status coded = WithExitCode(absl::UnavailableError("x"), kExitCoordinatorLost);
  const absl::Status named = WithFacts(WithFacts(coded, Full().facts), later);
  EXPECT_EQ(FactsOf(named).rank, 3);
  EXPECT_EQ(ExitCode(WithExitCode(named, 1)), kExitCoordinatorLost);
  EXPECT_TRUE(WithFacts(absl::OkStatus(), later).ok());
}

TEST(ErrorFactsTest, OutliveOtherWordsAndOtherProcesses) {
  const absl::Status lost = WithNote(absl::AbortedError("lost\n2"), Full());
  const absl::Status other = Reworded(lost, absl::StatusCode::kDeadlineExceeded, "in other words");
  EXPECT_THAT(other.ToString(), EndsWith("(SIGKILL)']"));
  EXPECT_EQ(CodeAndText(other), "DEADLINE_EXCEEDED: in other words");
  EXPECT_EQ(UnpackStatus(PackStatus(lost)), lost);
  EXPECT_EQ(UnpackStatus(PackStatus(absl::AbortedError("a\nb"))), absl::AbortedError("a\nb"));
  EXPECT_EQ(UnpackStatus(PackStatus(absl::OkStatus())), absl::OkStatus());
  EXPECT_EQ(UnpackStatus("").code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace muster::internal
