#include "server/journal/replay/replayer.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/rpc/overloaded.h"
#include "server/journal/records/checkpoint_conversion.h"
#include "server/journal/records/digest.h"
#include "server/journal/records/options_conversion.h"

namespace muster::journal {
namespace {

// The range of valid times. Sums of times beyond it could overflow.
const core::Time kMinTime = absl::FromUnixSeconds(0);
const core::Time kMaxTime = absl::FromUnixSeconds(int64_t{10000} * 365 * 24 * 3600);
// The bound on the ids of calls and streams.
constexpr core::WaiterId kMaxWaiter = core::WaiterId{1} << 53;

// The bound on members. No daemon has more, because each takes a file descriptor.
constexpr uint32_t kMaxMembers = 1 << 22;
constexpr uint32_t kMaxVersionBytes = 256;

}  // namespace

core::Time Replayer::TimeOf(const Record& record) const {
  if (record.has_start()) return FromProto(record.start().time());
  if (record.has_checkpoint()) return FromProto(record.checkpoint().time());
  if (!record.has_step()) return now_;
  return now_ + absl::Nanoseconds(static_cast<int64_t>(record.step().elapsed_nanos()));
}

absl::Status Replayer::Feed(const Record& record) {
  if (record.has_header()) return absl::OkStatus();
  const core::Time time = TimeOf(record);
  const bool goes_back = record.has_step() && time < now_;
  if (goes_back || time < kMinTime || time > kMaxTime) {
    return absl::DataLossError(absl::StrCat("the journal has a record of ", absl::FormatTime(time),
                                            ", which is out of order or out of range"));
  }
  if (record.has_step()) {
    now_ = time;
    return FeedStep(record.step());
  }
  if (record.has_start()) return FeedStart(record.start());
  if (record.has_checkpoint()) return FeedCheckpoint(record.checkpoint());
  if (!record.has_end()) return absl::DataLossError("the journal has a record of an unknown kind");
  FeedEnd(record.end());
  return absl::OkStatus();
}

absl::StatusOr<core::Options> Replayer::ReadOptions(const Options& in) {
  core::Options options = FromProto(in);
  if (absl::Status s = options.Validate(); !s.ok()) {
    return absl::DataLossError(absl::StrCat("the journal's options are invalid: ", s.message()));
  }
  absl::Status version =
      core::ValidateName("daemon_version", options.daemon_version, kMaxVersionBytes);
  if (!version.ok()) return absl::DataLossError(version.message());
  if (options.limits.max_members > kMaxMembers) {
    return absl::DataLossError(absl::StrCat("the journal's options are invalid: --max-members is ",
                                            options.limits.max_members));
  }
  options.random = [this] {
    const int drawn = drawn_++;
    return drawn < step_->draws_size() ? step_->draws(drawn) : uint64_t{0};
  };
  options.wants_inquiry = [](core::Time, core::JobState) { return false; };
  return options;
}

absl::Status Replayer::FeedStart(const Start& start) {
  absl::StatusOr<core::Options> options = ReadOptions(start.options());
  if (!options.ok()) return options.status();
  now_ = started_ = FromProto(start.time());
  steps_of_daemon_ = 0;
  from_checkpoint_ = false;
  ended_ = false;
  open_.clear();
  store_streams_.clear();
  core_ = std::make_unique<core::Coordinator>(*options);
  observer_->OnStart(now_, *options);
  return absl::OkStatus();
}

// Replays a checkpoint. If the replay has all steps before it, the core already has this state, and
// nothing changes.
absl::Status Replayer::FeedCheckpoint(const Checkpoint& checkpoint) {
  absl::StatusOr<core::Options> options = ReadOptions(checkpoint.options());
  if (!options.ok()) return options.status();
  const bool known = core_ != nullptr && !ended_ &&
                     core_->options().instance == options->instance &&
                     steps_of_daemon_ == checkpoint.steps();
  now_ = FromProto(checkpoint.time());
  if (known) return absl::OkStatus();
  const absl::StatusOr<core::Checkpoint> state = FromProto(checkpoint.state(), &synthetic_);
  if (!state.ok()) return state.status();
  CountMissingSteps(options->instance, checkpoint.steps());
  if (absl::Status s = core::Check(*state, options->limits, now_); !s.ok()) {
    return absl::DataLossError(absl::StrCat("the journal's checkpoint is invalid: ", s.message()));
  }
  steps_of_daemon_ = checkpoint.steps();
  from_checkpoint_ = true;
  ended_ = false;
  if (core_ == nullptr && steps_ == 0) started_ = now_;
  open_.clear();
  store_streams_.clear();
  for (const auto& member : state->members) open_.insert(member.stream);
  core_ = std::make_unique<core::Coordinator>(*options, now_, *state);
  observer_->OnCheckpoint(now_, *options, *state);
  return absl::OkStatus();
}

// Counts the steps that are missing before a checkpoint of the same daemon.
void Replayer::CountMissingSteps(uint64_t instance, uint64_t steps) {
  const bool same_daemon = core_ != nullptr && core_->options().instance == instance;
  if (same_daemon && steps > steps_of_daemon_) missing_steps_ += steps - steps_of_daemon_;
}

void Replayer::FeedEnd(const End& end) {
  ended_ = true;
  observer_->OnEnd(now_, end);
}

absl::Status Replayer::FeedStep(const Step& step) {
  if (core_ == nullptr || ended_) {
    return absl::DataLossError(
        "the journal has a step outside a recording: none has begun, or the last one has ended");
  }
  absl::StatusOr<core::Input> input = Restore(step, &synthetic_);
  if (!input.ok()) return input.status();
  if (absl::Status s = TrackOpenCall(step.waiter(), *input); !s.ok()) return s;
  ReplayedStep replayed{now_, step.kind(), step.waiter(), *std::move(input), {}};
  step_ = &step;
  drawn_ = 0;
  replayed.effects = core_->Step(now_, step.waiter(), replayed.input);
  for (const core::Reply& reply : replayed.effects.replies) open_.erase(reply.waiter);
  for (const core::StreamEnd& end : replayed.effects.ends) {
    open_.erase(end.stream);
    store_streams_.erase(end.stream);
  }
  if (absl::Status s = CheckEffects(step, replayed.effects); !s.ok()) return s;
  ++steps_;
  ++steps_of_daemon_;
  observer_->OnStep(replayed);
  return absl::OkStatus();
}

// Checks that the number of a new call or stream is not in use. The core relies on its caller for
// that. All messages of a stream of the store have its number.
absl::Status Replayer::TrackOpenCall(core::WaiterId waiter, const core::Input& input) {
  bool is_new = true;
  std::visit(Overloaded{
                 [&](const core::CallCancelled&) { open_.erase(waiter); },
                 [&](const core::StreamClosed&) {
                   open_.erase(waiter);
                   store_streams_.erase(waiter);
                 },
                 [&](const core::StoreRequest&) {
                   is_new = waiter != 0 && waiter < kMaxWaiter && open_.count(waiter) == 0;
                   store_streams_.insert(waiter);
                 },
                 [](const core::StoreLeft&) {},
                 [](const core::DeadlineReached&) {},
                 [](const core::DrainBegun&) {},
                 [](const core::VerdictFound&) {},
                 [&](const auto& /*request*/) {
                   is_new = waiter != 0 && waiter < kMaxWaiter &&
                            store_streams_.count(waiter) == 0 && open_.insert(waiter).second;
                 },
             },
             input);
  if (is_new) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the journal has two calls of one number, ", waiter));
}

absl::Status Replayer::CheckEffects(const Step& step, const core::Effects& effects) {
  const Digest digest = DigestOf(effects);
  const bool answers_differ = digest.answers != step.answers();
  const bool differs =
      answers_differ || digest.texts != step.texts() || drawn_ != step.draws_size();
  if (from_checkpoint_) {
    diverged_steps_ += answers_differ;
    return absl::OkStatus();
  }
  if (!differs) return absl::OkStatus();
  return absl::AbortedError(absl::StrCat(
      "step ", steps_ + 1, " of the journal, ", InputKind_Name(step.kind()), " at ",
      absl::FormatTime(now_), ", has another outcome here than in the daemon, musterd ",
      core_->options().daemon_version, ": replay it with the muster of that version and build"));
}

}  // namespace muster::journal
