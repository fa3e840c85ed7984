// The part of RandomJoining that makes events happen.

#include "tests/server/core/random/random_joining.h"

#include <iostream>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace muster::core {
namespace {

constexpr int kSteps = 100;
constexpr uint32_t kMostPlaces = 4;
constexpr size_t kMostAlive = 7;

std::string Describe(const JoinRequest& request) {
  std::string words = request.world_size == 0 ? "" : absl::StrCat(" of ", request.world_size);
  if (request.rank) absl::StrAppend(&words, " as rank ", *request.rank);
  if (request.local_rank) absl::StrAppend(&words, " as local rank ", *request.local_rank);
  if (request.node_rank) absl::StrAppend(&words, " on node rank ", *request.node_rank);
  return words;
}

}  // namespace

Options RandomJoining::DrawOptions(uint64_t seed) {
  std::mt19937_64 random(~seed);
  const uint32_t places = 1 + static_cast<uint32_t>(random() % kMostPlaces);
  Options options = Harness::DefaultOptions(random() % 2 == 0 ? places : 0);
  options.rejoin_timeout = absl::Seconds(20);
  if (random() % 2 == 0) return options;
  options.world_size = 0;
  options.max_world_size = places;
  options.min_world_size = 1 + static_cast<uint32_t>(random() % places);
  return options;
}

RandomJoining::RandomJoining(uint64_t seed, bool verbose)
    : options_(DrawOptions(seed)), random_(seed), verbose_(verbose), h_(options_) {
  style_ = static_cast<Style>(Pick(5));
  size_ = places() != 0 ? places() : 1 + Pick(kMostPlaces);
  nodes_ = 1 + Pick(std::min(size_, 2u));
}

uint32_t RandomJoining::places() const {
  return options_.max_world_size != 0 ? options_.max_world_size : options_.world_size;
}

void RandomJoining::Run() {
  for (int step = 0; step < kSteps && !::testing::Test::HasFailure(); ++step) Step();
  Pass(absl::Hours(2));  // every wait has a deadline
  EXPECT_EQ(h_.coordinator().NextDeadline(), absl::InfiniteFuture());
  for (const Participant& participant : participants_) {
    EXPECT_EQ(participant.call, 0u)
        << "pid " << participant.process.identity.pid << ": its call was forgotten";
  }
}

void RandomJoining::Trace(const std::string& text) {
  if (verbose_)
    std::cerr << absl::FormatTime("%M:%E3S ", h_.now(), absl::UTCTimeZone()) << text << "\n";
}

void RandomJoining::Step() {
  if (participants_.empty() || OneIn(5)) {
    Start();
  } else {
    Participant& participant = participants_[Pick(participants_.size())];
    switch (Pick(12)) {
      case 0:
        Cut(participant);
        break;
      case 1:
        if (OneIn(2)) Kill(participant);
        break;
      case 2:
        Cancel(participant);
        break;
      case 3:
      case 4:
        Pass(absl::Milliseconds(1 + Pick(OneIn(8) ? 30'000 : 3000)));
        break;
      case 5:
        if (elastic() && OneIn(40)) Churn();
        break;
      default:
        Continue(participant);
    }
  }
  CheckProgress();
}

RandomJoining::Participant& RandomJoining::Start() {
  size_t alive = 0;
  for (const Participant& participant : participants_) alive += !participant.dead;
  if (alive >= kMostAlive) return participants_[Pick(participants_.size())];
  const uint32_t place = Pick(size_);
  participants_.emplace_back();
  Participant& participant = participants_.back();
  participant.process = h_.New(absl::StrCat("n", place % nodes_));
  if (OneIn(6)) participant.process.identity.start_time_micros = 0;  // older than the others
  participant.request = DrawRequest(place);
  Attach(participant);
  if (OneIn(2)) Continue(participant);
  return participant;
}

// Returns the options that a launcher would give the process at this place. Sometimes they are
// wrong, or of another job.
JoinRequest RandomJoining::DrawRequest(uint32_t place) {
  const Style style = style_ == Style::kAnything ? static_cast<Style>(Pick(4)) : style_;
  JoinRequest request;
  if (places() == 0 ? !OneIn(4) : OneIn(4)) request.world_size = size_;
  if (OneIn(24)) request.world_size = 1 + Pick(kMostPlaces);
  if (style == Style::kRanks) request.rank = place;
  if (style == Style::kLocalRanks) request.local_rank = place / nodes_;
  if (style == Style::kNodeRanks) request.node_rank = nodes_ - 1 - place % nodes_;
  if (request.rank && OneIn(24)) request.rank = Pick(kMostPlaces + 2);
  if (request.rank && OneIn(4)) request.local_rank = place / nodes_;
  return request;
}

void RandomJoining::Continue(Participant& participant) {
  if (participant.dead) return;
  if (!participant.connected) return Attach(participant);
  if (participant.process.epoch.number == 0) return Join(participant);
  if (elastic() && (participant.broken || OneIn(8))) Rejoin(participant);
}

void RandomJoining::Attach(Participant& participant) {
  h_.Attach(participant.process);
  participant.events_seen = 0;
  participant.call = 0;
  const std::optional<absl::Status> end = h_.EndOf(participant.process.stream);
  Trace(absl::StrCat("pid ", participant.process.identity.pid,
                     " attaches: ", end ? end->ToString() : "OK"));
  participant.connected = !end;
  if (end) participant.dead = true;
  Absorb();
}

// Joins. A second send replaces a parked one.
void RandomJoining::Join(Participant& participant) {
  if (participant.call != 0 && !OneIn(4)) return;
  participant.called = h_.now();
  participant.timeout = absl::Seconds(1 + Pick(OneIn(4) ? 5 : 200));
  participant.rejoins = false;
  Trace(absl::StrCat("pid ", participant.process.identity.pid, " on ",
                     participant.process.identity.node_id, " joins",
                     Describe(participant.request)));
  participant.call = h_.Join(participant.process, participant.request, participant.timeout);
  Absorb();
}

void RandomJoining::Rejoin(Participant& participant) {
  if (participant.call != 0) return;
  participant.called = h_.now();
  participant.timeout = absl::Seconds(1 + Pick(200));
  participant.rejoins = true;
  Trace(absl::StrCat("pid ", participant.process.identity.pid, " rejoins"));
  participant.call = h_.Rejoin(participant.process, participant.timeout);
  Absorb();
}

void RandomJoining::Cut(Participant& participant) {
  if (!participant.connected) return;
  Trace(absl::StrCat("pid ", participant.process.identity.pid, " is cut off"));
  participant.connected = false;
  participant.disturbed = true;
  h_.CloseStream(participant.process);
  Absorb();
}

// Notes that a launcher has given up a place. If other processes may take all places, the job may
// still form.
void RandomJoining::NoteGivenUp(const Participant& participant) {
  if (!given_up_) given_up_ = h_.now();
  const JobStatus status = h_.coordinator().GetStatus(h_.now());
  const auto others =
      std::count_if(status.members.begin(), status.members.end(), [&](const MemberStatus& member) {
        return member.member.incarnation != participant.process.identity.incarnation;
      });
  const bool missed = status.world_size == 0 || others < status.world_size;
  if (missed && !missed_) missed_ = h_.now();
}

void RandomJoining::Kill(Participant& participant) {
  if (participant.dead) return;
  Trace(absl::StrCat("pid ", participant.process.identity.pid, " dies"));
  participant.dead = true;
  participant.disturbed = true;
  const bool gives_up = OneIn(10);
  if (gives_up) NoteGivenUp(participant);
  if (gives_up || OneIn(2))
    h_.ReportExit(participant.process, true, 9, gives_up ? "it was killed" : "");
  Cut(participant);
  Absorb();
}

void RandomJoining::Cancel(Participant& participant) {
  if (participant.call == 0) return;
  Trace(absl::StrCat("pid ", participant.process.identity.pid, " waits no longer"));
  h_.Cancel(std::exchange(participant.call, 0));
  Absorb();
}

void RandomJoining::Pass(absl::Duration time) {
  Trace(absl::StrCat("pass ", absl::FormatDuration(time)));
  const Time end = h_.now() + time;
  while (h_.now() < end) {
    h_.Advance(
        std::max(absl::ZeroDuration(), std::min(end, h_.coordinator().NextDeadline()) - h_.now()));
    Absorb();
    CheckProgress();
  }
}

void RandomJoining::Churn() {
  const Time end = h_.now() + 2 * (options_.rejoin_timeout + options_.settle);
  while (h_.now() < end && !::testing::Test::HasFailure()) {
    Participant& newcomer = Start();
    if (newcomer.connected && newcomer.process.epoch.number == 0) Join(newcomer);
    Pass(options_.settle / 2);
    if (newcomer.process.epoch.number == 0) Kill(newcomer);
    CheckProgress();
  }
}

}  // namespace muster::core
