// musterd --journal and muster replay, with real daemons and ranks, some of which are killed.

#include <csignal>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/util/job/ranks.h"
#include "tests/util/process/wait_until.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr Exit kBadUsage = {false, 64};

// The output of `muster replay`, and its exit status.
struct Replay {
  Exit exit;
  std::string output;
};

Replay ReplayOf(Args flags) {
  flags.insert(flags.begin(), {Runfile("client/cli/muster"), "replay"});
  const auto process = Process::Start(flags);
  const Exit exit = process->Wait();
  return {exit, process->Output()};
}

// An elastic job of three. Its daemon is killed between two barriers and restarted. Then rank 2 is
// killed, and the others go on without it. All tests read the same journal.
class JournalTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { RunJob(); }

  static void RunJob() {
    const Gate gate;
    auto daemon = TestDaemon::Start({"--journal", Path(), "--world-size=3", "--min-world-size=2",
                                     "--member-grace=300ms", "--settle=5s"});
    std::vector<std::unique_ptr<Process>> ranks;
    for (int rank : {0, 1, 2}) {
      const Args end =
          rank == 2 ? Args{"wait=/never"} : Args{"try:barrier", "rejoin", "allgather", "leave"};
      Args steps = {"barrier", "paced=0s", gate.wait(), "barrier"};
      steps.insert(steps.end(), end.begin(), end.end());
      ranks.push_back(StartRank(daemon->address(), rank, steps));
    }
    for (const auto& rank : ranks) ASSERT_TRUE(rank->WaitForOutput("begins wait"));
    // A rank that has reached "step 0" has completed the barrier before it, and so have the others.
    const auto is_written = [] { return ReadFile(Path()).find("step 0") != std::string::npos; };
    ASSERT_TRUE(WaitUntil(is_written));
    daemon->Kill();
    daemon->Restart();
    gate.Open();
    ASSERT_TRUE(ranks[2]->WaitForOutput("begins wait=/never"));
    ASSERT_TRUE(StatusReader(daemon->address()).WaitForParked(2, "Barrier"));
    ranks[2]->Signal(SIGKILL);
    for (int rank : {0, 1}) EXPECT_EQ(ranks[rank]->Wait(), kSuccess) << ranks[rank]->Output();
    daemon->process().Signal(SIGTERM);
    EXPECT_EQ(daemon->process().Wait(), kSuccess) << daemon->process().Output();
  }

  static const std::string& Folder() {
    static const auto* const folder = new std::string(MakeTempDir());
    return *folder;
  }
  static std::string Path() { return Folder() + "/journal"; }
};

TEST_F(JournalTest, NarratesTheJobDespiteKills) {
  const Replay replay = ReplayOf({Path()});
  EXPECT_EQ(replay.exit, kSuccess) << replay.output;
  EXPECT_EQ(CountOf(replay.output, " starts, for job 'default'"), 2) << replay.output;
  EXPECT_THAT(replay.output,
              AllOf(HasSubstr(" formed: 3 members"), HasSubstr("recovering epoch"),
                    HasSubstr(" is recovered: 3 of 3 members are here"), HasSubstr("rank 2 (host "),
                    HasSubstr(" was lost"), HasSubstr(" formed: 2 members"),
                    HasSubstr("the recording ends: the daemon has stopped")));

  const Replay lines = ReplayOf({"--json", Path()});
  EXPECT_EQ(lines.exit, kSuccess);
  std::istringstream all(lines.output);
  for (std::string line; std::getline(all, line);) {
    EXPECT_THAT(nlohmann::json::parse(line)["text"].get<std::string>(), ::testing::Ne(""));
  }
}

TEST_F(JournalTest, ShowsTheStatusAtATime) {
  const Replay begin = ReplayOf({"--at", "+0s", Path()});
  EXPECT_EQ(begin.exit, kSuccess);
  EXPECT_THAT(begin.output, AllOf(HasSubstr("job default: forming"), HasSubstr("no members yet")));
  // Just before the loss, the others wait for rank 2.
  std::istringstream lines(ReplayOf({"--json", Path()}).output);
  double lost = 0;
  for (std::string line; std::getline(lines, line) && lost == 0;) {
    const auto entry = nlohmann::json::parse(line);
    if (entry["text"].get<std::string>().find(" was lost") != std::string::npos) {
      lost = entry["seconds"];
    }
  }
  ASSERT_GT(lost, 0);
  const Replay waiting = ReplayOf({"--at", absl::StrCat("+", lost - 0.01, "s"), Path()});
  EXPECT_EQ(waiting.exit, kSuccess);
  EXPECT_THAT(waiting.output, AllOf(HasSubstr("job default: running"),
                                    ContainsRegex("Barrier\\('in a barrier'\\) +0-1 +2 ")));
  const Replay json = ReplayOf({"--json", "--at", "end", Path()});
  EXPECT_EQ(nlohmann::json::parse(json.output)["state"], "JOB_STATE_FINISHED");
}

TEST_F(JournalTest, WritesATrace) {
  const std::string trace = Folder() + "/trace.json";
  const Replay written = ReplayOf({"--trace", trace, Path()});
  EXPECT_EQ(written.exit, kSuccess) << written.output;
  const auto parsed = nlohmann::json::parse(ReadFile(trace));
  int arrows = 0;
  int losses = 0;
  int waits = 0;
  for (const auto& event : parsed["traceEvents"]) {
    arrows += event["ph"] == "s";
    losses += absl::StartsWith(std::string(event["name"]), "lost: ");
    waits += event["ph"] == "X" && event["name"] == "Barrier('in a barrier')";
  }
  EXPECT_EQ(arrows, 2);         // from rank 2 to the others
  EXPECT_EQ(losses, 2);         // a mark, and a slice for both arrows to begin in
  EXPECT_GE(waits, 3 + 3 + 2);  // two ranks arrived together, and had to call again, twice
  EXPECT_EQ(ReplayOf({"--trace", "-", Path()}).output, ReadFile(trace));
}

TEST_F(JournalTest, RejectsATimeOutsideTheJournal) {
  const std::string trace = Folder() + "/trace-of-nothing.json";
  for (const Args& what : {Args{"--json"}, Args{"--trace", trace}, Args{}}) {
    Args flags = what;
    flags.insert(flags.end(), {"--at", "2000-01-01T00:00:00Z", Path()});
    const Replay before = ReplayOf(flags);
    EXPECT_EQ(before.exit, (Exit{false, 1}));
    EXPECT_THAT(before.output, HasSubstr("the journal has nothing of that time: it begins at 2"));
    EXPECT_EQ(CountOf(before.output, "\n"), 1) << before.output;
  }
  const Replay after = ReplayOf({"--at", "+1000h", Path()});
  EXPECT_EQ(after.exit, kSuccess);
  EXPECT_THAT(after.output, AllOf(HasSubstr("job default: finished"),
                                  HasSubstr("note: the journal ends before that time, at 2")));
}

TEST_F(JournalTest, ReportsAnUnwritableTrace) {
  const Replay nowhere = ReplayOf({"--trace", "/nowhere/trace", Path()});
  EXPECT_EQ(nowhere.exit, kBadUsage);
  EXPECT_THAT(nowhere.output, HasSubstr("cannot write /nowhere/trace: No such file"));
  const Replay full = ReplayOf({"--trace", "/dev/full", Path()});
  EXPECT_EQ(full.exit, (Exit{false, 1}));
  EXPECT_THAT(full.output, HasSubstr("cannot write /dev/full: No space left"));
  const std::string before = ReadFile(Path());
  const Replay itself = ReplayOf({"--trace", Path(), Path()});
  EXPECT_EQ(itself.exit, kBadUsage);
  EXPECT_THAT(itself.output, HasSubstr("--trace names the journal itself"));
  EXPECT_EQ(ReadFile(Path()), before);
}

TEST_F(JournalTest, RejectsAFileThatIsNoJournal) {
  const std::string path = Folder() + "/other";
  const Replay none = ReplayOf({path});
  EXPECT_EQ(none.exit, kBadUsage);
  EXPECT_THAT(none.output, HasSubstr("cannot read " + path));
  std::ofstream(path) << "something else";
  const Replay other = ReplayOf({path});
  EXPECT_EQ(other.exit, kBadUsage);
  EXPECT_THAT(other.output, HasSubstr("is not a journal; musterd --journal writes them"));
  const Replay folder = ReplayOf({Folder()});
  EXPECT_EQ(folder.exit, kBadUsage);
  EXPECT_THAT(folder.output, HasSubstr(Folder() + " is a folder; name the file"));
  std::ofstream(Folder() + "/empty").close();
  const Replay empty = ReplayOf({Folder() + "/empty"});
  EXPECT_EQ(empty.exit, kBadUsage);
  EXPECT_THAT(empty.output, HasSubstr("is empty: no musterd has written to it"));
  const Replay wrong = ReplayOf({"--at", "yesterday", Path()});
  EXPECT_EQ(wrong.exit, kBadUsage);
  EXPECT_THAT(wrong.output, HasSubstr("expected end, a duration since the beginning"));
}

// Arguments in the wrong order must not overwrite a file.
TEST_F(JournalTest, KeepsTheTraceFileIfThereIsNoJournal) {
  const std::string precious = Folder() + "/precious";
  std::ofstream(precious) << "something";
  const Replay swapped = ReplayOf({"--trace", precious, Folder() + "/no-journal"});
  EXPECT_EQ(swapped.exit, kBadUsage);
  EXPECT_THAT(swapped.output, HasSubstr("cannot read " + Folder() + "/no-journal"));
  EXPECT_EQ(ReadFile(precious), "something");
}

TEST_F(JournalTest, ShowsTheReadablePartOfADamagedJournal) {
  const std::string path = Folder() + "/damaged";
  std::string bytes = ReadFile(Path());
  bytes.back() = static_cast<char>(~bytes.back());  // in the last of several blocks
  std::ofstream(path) << bytes;
  const Replay replay = ReplayOf({path});
  EXPECT_EQ(replay.exit, (Exit{false, 1})) << replay.output;
  EXPECT_THAT(replay.output, AllOf(HasSubstr(" starts, for job 'default'"),
                                   HasSubstr(path + " is damaged at byte ")));
}

}  // namespace
}  // namespace muster::testing
