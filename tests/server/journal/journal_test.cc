// A server's journal: its content, its file over time, and its replay.

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "server/journal/narration/journal_narrator.h"
#include "server/journal/narration/journal_timeline.h"
#include "server/journal/narration/trace_writer.h"
#include "server/journal/recorder/file_segment_writer.h"
#include "server/journal/records/format.h"
#include "server/journal/replay/reader.h"
#include "server/journal/replay/replay_files.h"
#include "spdlog/sinks/ostream_sink.h"
#include "tests/server/service/store_stream.h"
#include "tests/server/service/test_job.h"
#include "tests/util/process/process.h"
#include "tests/util/process/wait_until.h"

namespace muster::testing {
namespace {

using journal::ReplayResult;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr uint64_t kSmallest = 1 << 20;

void Append(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::app) << bytes;
}

uint64_t SizeOf(const std::string& path) {
  struct stat file = {};
  return stat(path.c_str(), &file) == 0 ? file.st_size : 0;
}

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

// The timeline of a replay.
struct ReplayOutput {
  ReplayResult end;
  std::vector<std::string> lines;
  v1::GetStatusResponse status;
};

ReplayOutput ReplayToLines(const std::string& path, const journal::ReplayLimit& limit = {}) {
  ReplayOutput replay;
  journal::JournalTimeline timeline([&](const journal::JournalTimelineEntry& entry) {
    replay.lines.push_back(absl::StrCat(entry.kind, ": ", entry.text,
                                        entry.count > 1 ? absl::StrCat(" x ", entry.count) : ""));
  });
  journal::JournalNarrator narrator(&timeline);
  journal::Replayer replayer(&narrator);
  replay.end = journal::ReplayFiles(path, limit, &replayer);
  timeline.Finish();
  if (replayer.core() != nullptr) replay.status = journal::StatusAt(replayer, replay.end.time);
  return replay;
}

class JournalTest : public ::testing::Test {
 protected:
  service::ServerOptions Options(uint64_t max_bytes = 64 << 20) const {
    service::ServerOptions options = TestOptions();
    options.journal = {path_, max_bytes, /*flush_limit=*/absl::Minutes(1)};
    options.logger = logger_;
    return options;
  }

  // Runs a job of two that makes one call of nearly every kind.
  void RunJob(service::Server& server) const {
    TestJob job(server.address(), 2);
    EXPECT_THAT(job.All([](TestMember& m) { return m.Barrier("step 1"); }), Each(IsOk()));
    EXPECT_THAT(job.All([](TestMember& m) { return m.Barrier("step 2"); }), Each(IsOk()));
    const auto broadcast = [this](TestMember& m) {
      return m.Broadcast(0, m.rank() == 0 ? kPayload : "");
    };
    EXPECT_THAT(job.All(broadcast), Each(IsOk()));
    EXPECT_THAT(job.All([](TestMember& m) { return m.AllGather("short"); }), Each(IsOk()));
    const auto lease = job[0].AcquireLease("unpack", 1);
    ASSERT_THAT(lease, IsOk());
    EXPECT_THAT(job[0].CompleteLease("unpack", lease->granted().token(), kPayload), IsOk());
    EXPECT_THAT(job.All([](TestMember& m) { return m.Leave(); }), Each(IsOk()));
  }

  const std::string kPayload = "a payload that nobody else must see";
  const std::string path_ = MakeTempDir() + "/journal";
  std::ostringstream log_;
  const std::shared_ptr<spdlog::logger> logger_ =
      std::make_shared<spdlog::logger>("", std::make_shared<spdlog::sinks::ostream_sink_mt>(log_));
};

TEST_F(JournalTest, ReplaysTheJobAndItsTimeline) {
  RunJob(*StartServer(Options()));
  const ReplayOutput replay = ReplayToLines(path_);
  EXPECT_THAT(replay.end.status, IsOk());
  EXPECT_THAT(replay.end.notes, IsEmpty());
  EXPECT_THAT(replay.lines, Contains(HasSubstr("starts, for job 'default'")));
  EXPECT_THAT(replay.lines, Contains(HasSubstr("attach")));
  EXPECT_THAT(replay.lines, Contains(HasSubstr(" formed: 2 members")));
  EXPECT_THAT(replay.lines, Contains("collective: Barrier('step #') of the world completes x 2"));
  EXPECT_THAT(replay.lines, Contains(HasSubstr("AcquireLease('unpack'")));
  EXPECT_THAT(replay.lines, Contains(HasSubstr("every member has left")));
  EXPECT_EQ(replay.lines.back(), "end: the recording ends: the daemon has stopped");
}

TEST_F(JournalTest, CallsPrecedeAnswersAndOnlyNamesAreGrouped) {
  {
    const auto server = StartServer(Options());
    TestJob job(server->address(), 1);
    for (int shard = 1; shard <= 2; ++shard) {
      ASSERT_THAT(job[0].AcquireLease(absl::StrCat("shard ", shard), shard), IsOk());
      v1::AllGatherRequest request;
      *request.mutable_context() = job[0].CollectiveContext();
      request.mutable_context()->set_label(absl::StrCat("step ", shard));
      request.mutable_context()->set_type_name("int64");
      request.mutable_context()->set_payload_size(8);
      request.set_payload("8 bytes!");
      ASSERT_THAT(job[0].Call(&v1::CoordinatorService::Stub::AllGather, request), IsOk());
      job[0].set_completed(job[0].completed() + 1);
    }
  }
  const std::vector<std::string> lines = ReplayToLines(path_).lines;
  const auto call = absl::c_find(lines, "call: calls of AcquireLease('shard #', job) x 2");
  const auto answer = absl::c_find(lines, "lease: answers to AcquireLease('shard #', job) x 2");
  EXPECT_LT(call, answer) << absl::StrJoin(lines, "\n");
  EXPECT_NE(answer, lines.end()) << absl::StrJoin(lines, "\n");
  EXPECT_THAT(lines, Contains("collective: AllGather('step #', int64, 8 bytes) of the world "
                              "completes x 2"));
}

TEST_F(JournalTest, AppendsToThePreviousDaemonsJournal) {
  RunJob(*StartServer(Options()));
  RunJob(*StartServer(Options()));
  const ReplayOutput replay = ReplayToLines(path_);
  EXPECT_THAT(replay.end.status, IsOk());
  EXPECT_EQ(std::count_if(replay.lines.begin(), replay.lines.end(),
                          [](const std::string& line) { return line.find("daemon: ") == 0; }),
            2);
}

TEST_F(JournalTest, OmitsPayloadsAndSecretsAndIsPrivate) {
  std::string secret;
  {
    const auto server = StartServer(Options());
    RunJob(*server);
    TestMember late(server->address());
    secret = late.secret();
    EXPECT_THAT(late.Attach(), IsOk());
  }
  const std::string bytes = ReadFile(path_);
  EXPECT_THAT(bytes, HasSubstr("step 1"));
  EXPECT_THAT(bytes, Not(HasSubstr(kPayload)));
  EXPECT_THAT(bytes, Not(HasSubstr("short")));
  EXPECT_THAT(bytes, Not(HasSubstr(secret)));
  struct stat file = {};
  ASSERT_EQ(stat(path_.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
}

TEST_F(JournalTest, ReplaysTheStoreWithoutItsValues) {
  const auto set = [](const std::string& key, const std::string& value) {
    return [=](v1::StoreOperation* operation) {
      operation->mutable_set()->set_key(key);
      operation->mutable_set()->set_value(value);
    };
  };
  const auto add = [](v1::StoreOperation* operation) {
    operation->mutable_add()->set_key("number");
    operation->mutable_add()->set_amount(2);
  };
  const auto swap = [](v1::StoreOperation* operation) {
    operation->mutable_compare_and_set()->set_key("name");
    operation->mutable_compare_and_set()->set_expected("private");
    operation->mutable_compare_and_set()->set_value("changed");
  };
  service::ServerOptions options = Options();
  {
    const auto server = StartServer(options);
    TestStoreClient client(server->address());
    ASSERT_THAT(client.Open(), IsOk());
    ASSERT_THAT(client.Call(set("name", "private")), IsOk());
    ASSERT_THAT(client.Call(set("number", "40")), IsOk());
    EXPECT_EQ(client.Call(add)->number(), 42);
    EXPECT_TRUE(client.Call(swap)->changed());
    const absl::StatusOr<v1::StoreAnswer> text = client.Call([](v1::StoreOperation* operation) {
      operation->mutable_add()->set_key("name");
      operation->mutable_add()->set_amount(1);
    });
    ASSERT_THAT(text, IsOk());
    EXPECT_EQ(text->error().code(), static_cast<uint32_t>(absl::StatusCode::kInvalidArgument));
    client.Leave().IgnoreError();
  }
  const std::string journal = ReadFile(path_);
  EXPECT_THAT(journal, HasSubstr("name"));
  EXPECT_THAT(journal, Not(HasSubstr("private")));
  EXPECT_THAT(journal, Not(HasSubstr("changed")));
  const ReplayOutput replay = ReplayToLines(path_);
  EXPECT_THAT(replay.end.status, IsOk());
}

TEST_F(JournalTest, AnIncompleteLastBlockIsIgnored) {
  RunJob(*StartServer(Options()));
  ASSERT_EQ(truncate(path_.c_str(), static_cast<off_t>(SizeOf(path_) - 3)), 0);
  const ReplayOutput replay = ReplayToLines(path_);
  EXPECT_THAT(replay.end.status, IsOk());
  EXPECT_THAT(replay.end.notes, ElementsAre(HasSubstr("not written completely")));
  // The next daemon continues after the last whole block.
  RunJob(*StartServer(Options()));
  const ReplayOutput again = ReplayToLines(path_);
  EXPECT_THAT(again.end.status, IsOk());
  EXPECT_THAT(again.end.notes, IsEmpty());
  EXPECT_EQ(again.lines.back(), "end: the recording ends: the daemon has stopped");
}

TEST_F(JournalTest, RecordsAfterDamageAreIgnored) {
  RunJob(*StartServer(Options()));
  std::string bytes = ReadFile(path_);
  bytes[bytes.size() - 20] ^= 1;
  std::ofstream(path_, std::ios::binary) << bytes;
  const ReplayOutput replay = ReplayToLines(path_);
  EXPECT_THAT(replay.end.status, IsOk());
  EXPECT_THAT(replay.end.notes, ElementsAre(HasSubstr("damaged at byte")));
}

TEST_F(JournalTest, AnotherFileIsNeitherWrittenNorRead) {
  Append(path_, "the only copy of something");
  RunJob(*StartServer(Options()));
  EXPECT_EQ(ReadFile(path_), "the only copy of something");
  EXPECT_THAT(log_.str(), HasSubstr("is there and is not a journal; name another file"));
  EXPECT_THAT(ReplayToLines(path_).end.status,
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("is not a journal")));
}

// The keys of sessions are in the file.
TEST_F(JournalTest, AFileThatOthersCanReadBecomesPrivate) {
  const auto mode = [this] {
    struct stat file = {};
    return stat(path_.c_str(), &file) == 0 ? file.st_mode & ACCESSPERMS : 0;
  };
  Append(path_, "");
  for (const mode_t before : {0666, 0644}) {  // an empty file, and a journal
    ASSERT_EQ(chmod(path_.c_str(), before), 0);
    RunJob(*StartServer(Options()));
    EXPECT_EQ(mode(), 0600u);
    EXPECT_THAT(ReplayToLines(path_).end.status, IsOk());
  }
  EXPECT_EQ(log_.str().find("the journal ends"), std::string::npos) << log_.str();
}

TEST_F(JournalTest, OnlyItsOwnRegularFileIsWritten) {
  const std::string target = path_ + "-of-another-name";
  Append(target, "");
  ASSERT_EQ(symlink(target.c_str(), path_.c_str()), 0);
  RunJob(*StartServer(Options()));
  EXPECT_THAT(log_.str(), HasSubstr("is a symbolic link; name the file itself"));
  EXPECT_EQ(SizeOf(target), 0u);

  unlink(path_.c_str());
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  RunJob(*StartServer(Options()));
  EXPECT_THAT(log_.str(), HasSubstr("is not a regular file"));

  unlink(path_.c_str());
  Append(path_, "");
  if (chown(path_.c_str(), 1, 1) != 0) return;  // only root can create a file of another user here
  RunJob(*StartServer(Options()));
  EXPECT_THAT(log_.str(), HasSubstr("belongs to another user"));
  EXPECT_EQ(SizeOf(path_), 0u);
}

TEST_F(JournalTest, AnotherDaemonsJournalIsLeftAlone) {
  const auto first = StartServer(Options());
  ASSERT_TRUE(WaitUntil([this] { return SizeOf(path_) > 0; }));
  RunJob(*StartServer(Options()));
  EXPECT_THAT(log_.str(), HasSubstr("another process writes"));
}

TEST_F(JournalTest, ANewerFormatIsRefused) {
  journal::Record record;
  record.mutable_header()->set_format(journal::kFormat + 1);
  record.mutable_header()->set_musterd("99.1");
  std::string block;
  journal::Encoder::Append(record, &block);
  Append(path_, absl::StrCat(journal::kMagic, journal::EncodeFrame(block), block));
  EXPECT_THAT(ReplayToLines(path_).end.status,
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("written by musterd 99.1; this program reads up to format")));
}

TEST_F(JournalTest, AnUnwritableFileBlocksNoStep) {
  service::ServerOptions options = Options();
  options.journal->path = "/nowhere/journal";
  RunJob(*StartServer(options));
  EXPECT_THAT(log_.str(), HasSubstr("the job goes on without it: cannot open /nowhere/journal"));
}

// Beyond the limit, writes fail as on a full disk.
TEST_F(JournalTest, AFullDiskEndsTheRecordingAndNothingElse) {
  signal(SIGXFSZ, SIG_IGN);
  rlimit limit = {};
  getrlimit(RLIMIT_FSIZE, &limit);
  {
    const auto server = StartServer(Options());
    RunJob(*server);
  }
  rlimit low = limit;
  low.rlim_cur = SizeOf(path_) + 200;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
  RunJob(*StartServer(Options()));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  EXPECT_THAT(log_.str(), HasSubstr("the journal ends here, and the job goes on without it"));
  const ReplayOutput replay = ReplayToLines(path_);
  EXPECT_THAT(replay.end.status, IsOk());
  EXPECT_THAT(replay.end.notes, IsEmpty());  // the half-written part was taken back
}

// Rotation: each later segment begins at a step at which no call is parked.
class RotatedJournalTest : public JournalTest {
 protected:
  void SetUp() override {
    const auto server = StartServer(Options(kSmallest));
    TestJob job(server->address(), 2);
    const auto lease = job[1].AcquireLease("held", 7);
    ASSERT_THAT(lease, IsOk());
    const std::string label(200, 'x');
    uint64_t written = 0;
    const auto done = [this] { return Exists(path_ + ".3"); };
    for (int i = 0; i < 100000 && !done(); ++i) {
      ASSERT_THAT(job.All([&](TestMember& m) { return m.Barrier(label); }), Each(IsOk()));
      // Writes no faster than the disk, since the recorder drops what the disk does not take in
      // time.
      if (i % 50 != 0) continue;
      ASSERT_TRUE(WaitUntil([&] { return done() || Written() != written; }));
      written = Written();
    }
  }

  // Returns the bytes of all segments.
  uint64_t Written() const {
    uint64_t bytes = 0;
    for (int age = 0; Exists(journal::SegmentPath(path_, age)); ++age) {
      bytes += SizeOf(journal::SegmentPath(path_, age));
    }
    return bytes;
  }
};

TEST_F(RotatedJournalTest, KeepsToItsBoundAndReplaysFromEachSegment) {
  EXPECT_LE(Written(), kSmallest);
  const ReplayOutput whole = ReplayToLines(path_);
  EXPECT_THAT(whole.end.status, IsOk());
  EXPECT_THAT(whole.end.notes, IsEmpty());
  for (int age : {3, 2, 1}) {
    unlink(journal::SegmentPath(path_, age).c_str());
    const ReplayOutput part = ReplayToLines(path_);
    EXPECT_THAT(part.end.status, IsOk());
    EXPECT_THAT(part.end.notes, IsEmpty());
    EXPECT_THAT(part.lines.front(), HasSubstr("what was before is not in the journal"));
    ASSERT_EQ(part.status.members_size(), 2);
    EXPECT_EQ(part.status.epoch().number(), whole.status.epoch().number());
    EXPECT_EQ(part.status.members(0).state(), whole.status.members(0).state());
    ASSERT_EQ(part.status.leases_size(), whole.status.leases_size());
    for (int i = 0; i < whole.status.leases_size(); ++i) {
      EXPECT_EQ(part.status.leases(i).token(), whole.status.leases(i).token());
      EXPECT_EQ(part.status.leases(i).holder_rank(), whole.status.leases(i).holder_rank());
    }
  }
}

TEST_F(RotatedJournalTest, ADaemonThatIsKilledWhileItBeginsASegmentLeavesTheOthersReadable) {
  ASSERT_EQ(truncate(path_.c_str(), 0), 0);
  EXPECT_THAT(ReplayToLines(path_).end.status, IsOk());
  unlink(path_.c_str());
  const ReplayOutput replay = ReplayToLines(path_);
  EXPECT_THAT(replay.end.status, IsOk());
  EXPECT_EQ(replay.status.members_size(), 2);
}

// Begins another segment during the first step of a replay, as a daemon may.
class Rotator final : public journal::ReplayObserver {
 public:
  explicit Rotator(const std::string& path) : segments_(path, kSmallest, "1.2.3") {}
  void OnStart(core::Time, const core::Options&) override { Rotate(); }
  void OnCheckpoint(core::Time, const core::Options&, const core::Checkpoint&) override {
    Rotate();
  }
  void OnStep(const journal::ReplayedStep&) override {}
  void OnEnd(core::Time, const journal::End&) override {}

 private:
  void Rotate() {
    if (std::exchange(rotated_, true)) return;
    EXPECT_THAT(segments_.Open(), IsOk());
    EXPECT_THAT(segments_.Rotate(), IsOk());
  }
  journal::FileSegmentWriter segments_;
  bool rotated_ = false;
};

TEST_F(RotatedJournalTest, ARotationDuringAReplayLosesNoStep) {
  Rotator none(path_ + "-of-another-name");
  journal::Replayer whole(&none);
  ASSERT_THAT(journal::ReplayFiles(path_, {}, &whole).status, IsOk());
  Rotator rotator(path_);
  journal::Replayer rotated(&rotator);
  const ReplayResult end = journal::ReplayFiles(path_, {}, &rotated);
  EXPECT_THAT(end.status, IsOk());
  EXPECT_THAT(end.notes, IsEmpty());
  EXPECT_EQ(rotated.steps(), whole.steps());
}

TEST_F(JournalTest, MakesATraceOfNamedTracks) {
  RunJob(*StartServer(Options()));
  std::ostringstream out;
  journal::TraceWriter trace(&out);
  journal::JournalNarrator narrator(&trace);
  journal::Replayer replayer(&narrator);
  const ReplayResult end = journal::ReplayFiles(path_, {}, &replayer);
  narrator.Finish(end.time);
  trace.Finish(narrator.members());
  const nlohmann::json parsed = nlohmann::json::parse(out.str());
  std::set<std::pair<int, int>> named;
  std::set<std::string> names;
  std::map<std::string, int> slices;
  for (const auto& event : parsed["traceEvents"]) {
    const std::pair<int, int> track{event["pid"], event["tid"]};
    if (event["name"] == "thread_name" || event["name"] == "process_name") {
      names.insert(event["args"]["name"]);
    }
    if (event["name"] == "thread_name") named.insert(track);
    if (event["ph"] != "X") continue;
    ++slices[event["name"]];
    EXPECT_GT(event["dur"], 0.0);
    EXPECT_GE(event["ts"], 0.0);
  }
  for (const auto& event : parsed["traceEvents"]) {
    if (event["ph"] == "M") continue;
    if (event["ph"] == "i") {
      EXPECT_EQ(event["s"], "t") << "Perfetto has no name for others' tracks: " << event;
    }
    EXPECT_EQ(named.count({event["pid"], event["tid"]}), 1u) << event;
  }
  EXPECT_THAT(names, Contains("node 'node-a'"));
  EXPECT_THAT(names, Contains(HasSubstr("rank 1 (pid ")));
  EXPECT_EQ(slices["Barrier('step 2')"], 2);
  EXPECT_EQ(slices["Join"], 2);
}

}  // namespace
}  // namespace muster::testing
