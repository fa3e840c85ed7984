// The recorder with a disk that hangs.
#include "server/journal/recorder/recorder.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/credentials/process_secret.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/core/coordinator.h"
#include "server/journal/narration/journal_narrator.h"
#include "server/journal/narration/journal_timeline.h"
#include "server/journal/recorder/file_segment_writer.h"
#include "server/journal/records/checkpoint_conversion.h"
#include "server/journal/replay/replay_files.h"
#include "server/service/conversion/request_conversion.h"
#include "spdlog/sinks/ostream_sink.h"
#include "tests/util/process/process.h"
#include "tests/util/process/wait_until.h"

namespace muster::journal {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kMaxBytes = 256 << 20;

// A disk that hangs and answers again when the test says so.
class HangingDisk {
 public:
  void Hang() { Set(true); }
  void Answer() { Set(false); }
  // Writes. Blocks while the disk hangs.
  void Write() {
    std::unique_lock<std::mutex> lock(mutex_);
    changes_.wait(lock, [this] { return !hangs_; });
  }

 private:
  void Set(bool hangs) {
    std::lock_guard<std::mutex> lock(mutex_);
    hangs_ = hangs;
    changes_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changes_;
  bool hangs_ = false;
};

// A writer of segments on that disk.
class FakeSegmentWriter final : public SegmentWriter {
 public:
  FakeSegmentWriter(const std::string& path, uint64_t max_bytes, std::shared_ptr<HangingDisk> disk)
      : segments_(path, max_bytes, "1.2.3"), disk_(std::move(disk)) {}
  absl::Status Open() override {
    disk_->Write();
    return segments_.Open();
  }
  absl::Status Append(absl::string_view block) override {
    disk_->Write();
    return segments_.Append(block);
  }
  absl::Status Rotate() override {
    disk_->Write();
    return segments_.Rotate();
  }
  absl::Status CheckRoomAfter(size_t checkpoint_bytes) const override {
    return segments_.CheckRoomAfter(checkpoint_bytes);
  }
  bool full() const override { return segments_.full(); }
  bool overdue() const override { return segments_.overdue(); }

 private:
  FileSegmentWriter segments_;
  const std::shared_ptr<HangingDisk> disk_;
};

core::Options JobOfOne(std::vector<uint64_t>* draws) {
  core::Options options;
  options.job_id = "train";
  options.world_size = 1;
  options.daemon_version = "1.2.3";
  options.instance = 77;
  options.random = [draws] {
    draws->push_back(draws->size() + 1000);
    return draws->back();
  };
  return options;
}

// A job of one member, recorded as the daemon does it. Each barrier is one step.
class RecorderTest : public ::testing::Test {
 protected:
  ~RecorderTest() override {
    // Otherwise the recorder's thread would wait forever.
    disk_->Answer();
  }

  // Starts the recorder. `flush_limit`: how long it may take at its end, which is long by default,
  // since a busy machine may need a while.
  void Start(absl::Duration flush_limit = absl::Minutes(1), uint64_t max_bytes = kMaxBytes) {
    recorder_ = std::make_unique<Recorder>(
        std::make_unique<FakeSegmentWriter>(path_, max_bytes, disk_),
        RecorderOptions{path_, max_bytes, flush_limit}, core_.options(), now_, logger_);
    Attach();
    Join();
  }

  // Makes a barrier. Returns the recorder's message for the log, usually "".
  std::string Barrier() {
    v1::BarrierRequest request;
    v1::CollectiveContext& context = *request.mutable_context();
    *context.mutable_call() = Call();
    context.mutable_epoch()->set_number(epoch_.number);
    context.mutable_epoch()->set_nonce(epoch_.nonce);
    context.set_sequence(sequence_++);
    context.set_label(std::string(200, 'x'));
    std::string stop_reason;
    const core::Effects effects = Put(request, &stop_reason);
    EXPECT_TRUE(effects.replies.size() == 1 && effects.replies[0].status.ok());
    return stop_reason;
  }

  // Makes barriers until the recorder has a message. Returns "" if it never has one.
  std::string BarriersUntilStop() {
    for (int i = 0; i < 1000000; ++i) {
      EXPECT_FALSE(recorder_->wants_checkpoint());
      if (std::string stop_reason = Barrier(); !stop_reason.empty()) return stop_reason;
    }
    return "";
  }

  void AddCheckpoint() {
    std::optional<core::Checkpoint> checkpoint = core_.MakeCheckpoint();
    ASSERT_TRUE(checkpoint.has_value());
    recorder_->Add(*std::move(checkpoint), core_.options(), now_);
  }

  struct ReplayOutput {
    ReplayResult end;
    std::vector<std::string> lines;
  };
  ReplayOutput ReplayToLines() const {
    ReplayOutput replay;
    JournalTimeline timeline([&](const JournalTimelineEntry& entry) {
      replay.lines.push_back(absl::StrCat(entry.kind, ": ", entry.text));
    });
    JournalNarrator narrator(&timeline);
    Replayer replayer(&narrator);
    replay.end = ReplayFiles(path_, {}, &replayer);
    timeline.Finish();
    return replay;
  }

  const std::shared_ptr<HangingDisk> disk_ = std::make_shared<HangingDisk>();
  const std::string path_ = muster::testing::MakeTempDir() + "/journal";
  std::ostringstream log_;
  const std::shared_ptr<spdlog::logger> logger_ =
      std::make_shared<spdlog::logger>("", std::make_shared<spdlog::sinks::ostream_sink_mt>(log_));
  std::vector<uint64_t> draws_;
  core::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  core::Coordinator core_{JobOfOne(&draws_)};
  std::unique_ptr<Recorder> recorder_;

 private:
  template <typename Wire>
  core::Effects Put(Wire wire, std::string* stop_reason = nullptr) {
    now_ += absl::Milliseconds(1);
    draws_.clear();
    const KeptRequest kept = Keep(&wire, "", recorder_->hasher());
    auto request = service::FromProto(std::move(wire));
    EXPECT_TRUE(request.ok()) << request.status();
    const core::Input input = *std::move(request);
    const core::WaiterId waiter = ++waiters_;
    core::Effects effects = core_.Step(now_, waiter, input);
    const std::string reason = recorder_->Add({waiter, input, &kept}, now_, draws_, effects);
    if (stop_reason != nullptr) *stop_reason = reason;
    return effects;
  }

  void Attach() {
    const std::string secret = NewProcessSecret();
    v1::AttachRequest request;
    request.set_job_id("train");
    request.mutable_member()->set_incarnation(IncarnationOf(secret));
    request.mutable_member()->mutable_start_time()->set_seconds(1'600'000'000);
    request.mutable_member()->set_node_id("n0");
    request.set_secret(secret);
    request.set_protocol_version(core::kProtocolVersion);
    request.set_sdk_version("1.2.3");
    const core::Effects effects = Put(request);
    ASSERT_EQ(effects.events.size(), 1u);
    session_ = std::get<core::Attached>(*effects.events[0].event).session;
  }

  void Join() {
    v1::JoinRequest request;
    *request.mutable_call() = Call();
    request.set_world_size(1);
    const core::Effects effects = Put(request);
    ASSERT_EQ(effects.replies.size(), 1u);
    ASSERT_TRUE(effects.replies[0].status.ok()) << effects.replies[0].status;
    epoch_ = std::get<core::JoinAnswer>(effects.replies[0].answer).epoch;
  }

  v1::CallContext Call() {
    v1::CallContext call;
    call.set_job_id("train");
    call.mutable_session()->set_daemon_instance(session_.daemon_instance);
    call.mutable_session()->set_counter(session_.counter);
    call.mutable_session()->set_key(session_.key);
    call.set_attempt(++attempts_);
    call.mutable_wait_timeout()->set_seconds(60);
    return call;
  }

  core::SessionId session_;
  core::EpochId epoch_;
  uint64_t waiters_ = 0;
  uint64_t attempts_ = 0;
  uint64_t sequence_ = 0;
};

TEST_F(RecorderTest, AHangingDiskBlocksNoStepAndRecordingResumes) {
  disk_->Hang();
  Start();
  EXPECT_THAT(BarriersUntilStop(),
              AllOf(HasSubstr("the disk is too slow for it"),
                    HasSubstr("once the disk has caught up, recording goes on")));
  // The recorder says it once, and makes no checkpoints for which there is no room.
  constexpr int kMissing = 1000;  // after the step that found no room
  for (int i = 0; i < kMissing; ++i) {
    EXPECT_EQ(Barrier(), "");
    EXPECT_FALSE(recorder_->wants_checkpoint());
  }

  disk_->Answer();
  ASSERT_TRUE(muster::testing::WaitUntil([this] { return recorder_->wants_checkpoint(); }));
  AddCheckpoint();
  EXPECT_FALSE(recorder_->wants_checkpoint());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Barrier(), "");
  recorder_.reset();
  EXPECT_EQ(log_.str(), "");

  const ReplayOutput replay = ReplayToLines();
  EXPECT_TRUE(replay.end.status.ok()) << replay.end.status;
  EXPECT_EQ(replay.end.time, now_);
  EXPECT_THAT(replay.end.notes,
              ElementsAre(HasSubstr(absl::StrCat(kMissing + 1, " steps are missing"))));
  EXPECT_THAT(replay.lines, ::testing::Contains(HasSubstr("the disk is too slow for it")));
  EXPECT_THAT(replay.lines,
              ::testing::Contains(HasSubstr("what happened while nothing was recorded")));
  EXPECT_EQ(replay.lines.back(), "end: the recording ends: the daemon has stopped");
}

TEST_F(RecorderTest, AHangingDiskDelaysTheEndOnlyBriefly) {
  disk_->Hang();
  Start(absl::Seconds(1));
  Barrier();
  recorder_.reset();
  EXPECT_THAT(log_.str(), AllOf(HasSubstr("of the journal are lost"),
                                HasSubstr("the disk has not taken them within 1 s")));
}

TEST_F(RecorderTest, MissingStepsAtTheEndAreCounted) {
  disk_->Hang();
  Start();
  EXPECT_NE(BarriersUntilStop(), "");
  Barrier();
  disk_->Answer();
  ASSERT_TRUE(muster::testing::WaitUntil([this] { return recorder_->wants_checkpoint(); }));
  recorder_.reset();
  const ReplayOutput replay = ReplayToLines();
  EXPECT_TRUE(replay.end.status.ok()) << replay.end.status;
  EXPECT_EQ(replay.lines.back(),
            "end: the recording ends: the daemon has stopped; 2 steps are missing");
  EXPECT_THAT(replay.end.notes, IsEmpty());
}

// Otherwise each segment would contain a checkpoint and nothing else.
TEST_F(RecorderTest, ABoundTooSmallForCheckpointsEndsTheJournalWithAdvice) {
  Start(absl::Minutes(1), /*max_bytes=*/2048);
  ASSERT_TRUE(muster::testing::WaitUntil([this] {
    Barrier();
    return recorder_->wants_checkpoint();
  }));
  AddCheckpoint();
  recorder_.reset();
  const std::string why =
      "it keeps within --journal-max-bytes, 2048 bytes, in 8 segments, and each begins with a "
      "checkpoint, which takes ";
  const std::string remedy = " bytes of this job; start musterd with --journal-max-bytes 1MiB";
  EXPECT_THAT(log_.str(), AllOf(HasSubstr("the journal ends here, and the job goes on without it"),
                                HasSubstr(why), HasSubstr(remedy)));
  EXPECT_THAT(ReplayToLines().lines.back(),
              AllOf(HasSubstr("the recording ends: " + why), HasSubstr(remedy)));
}

// Each rotation writes a checkpoint, and values may be gigabytes.
TEST(CachedValueHasherTest, AnUnchangedValueIsHashedOnce) {
  const PayloadHasher hasher;
  core::Checkpoint checkpoint;
  const auto value = std::make_shared<std::string>("a value");
  const auto add = [&](const core::Bytes& bytes) {
    core::Checkpoint::Lease lease;
    lease.result = core::LeaseResult{1, absl::OkStatus(), bytes};
    checkpoint.leases.push_back(lease);
  };
  const auto fingerprints_of = [&](CachedValueHasher* known) {
    const State state = ToProto(checkpoint, known);
    std::vector<uint64_t> result;
    for (const Lease& lease : state.leases()) {
      result.push_back(lease.value().fingerprint());
    }
    return result;
  };
  CachedValueHasher known(hasher);
  add(value);
  const uint64_t first = hasher.Hash("a value");
  EXPECT_THAT(fingerprints_of(&known), ElementsAre(first));
  // Values never change. This test changes one to see whether it is read again.
  *value = "another";
  add(std::make_shared<std::string>("a second"));
  const uint64_t second = hasher.Hash("a second");
  EXPECT_THAT(fingerprints_of(&known), ElementsAre(first, second));
  EXPECT_THAT(fingerprints_of(&known), ElementsAre(first, second));
  // A value that one checkpoint lacked is forgotten.
  checkpoint.leases.clear();
  EXPECT_THAT(fingerprints_of(&known), IsEmpty());
  add(value);
  EXPECT_THAT(fingerprints_of(&known), ElementsAre(hasher.Hash("another")));
}

}  // namespace
}  // namespace muster::journal
