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

std::string Words(const JoinRequest& wish) {
  std::string words = wish.world_size == 0 ? "" : absl::StrCat(" of ", wish.world_size);
  if (wish.rank) absl::StrAppend(&words, " as rank ", *wish.rank);
  if (wish.local_rank) absl::StrAppend(&words, " as local rank ", *wish.local_rank);
  if (wish.node_rank) absl::StrAppend(&words, " on node rank ", *wish.node_rank);
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
  for (const Actor& actor : actors_) {
    EXPECT_EQ(actor.call, 0u) << "pid " << actor.process.identity.pid << ": its call was forgotten";
  }
}

void RandomJoining::Say(const std::string& text) {
  if (verbose_)
    std::cerr << absl::FormatTime("%M:%E3S ", h_.now(), absl::UTCTimeZone()) << text << "\n";
}

void RandomJoining::Step() {
  if (actors_.empty() || OneIn(5)) {
    Start();
  } else {
    Actor& actor = actors_[Pick(actors_.size())];
    switch (Pick(12)) {
      case 0:
        Cut(actor);
        break;
      case 1:
        if (OneIn(2)) Kill(actor);
        break;
      case 2:
        Cancel(actor);
        break;
      case 3:
      case 4:
        Pass(absl::Milliseconds(1 + Pick(OneIn(8) ? 30'000 : 3000)));
        break;
      case 5:
        if (elastic() && OneIn(40)) Churn();
        break;
      default:
        GoOn(actor);
    }
  }
  CheckProgress();
}

RandomJoining::Actor& RandomJoining::Start() {
  size_t alive = 0;
  for (const Actor& actor : actors_) alive += !actor.dead;
  if (alive >= kMostAlive) return actors_[Pick(actors_.size())];
  const uint32_t place = Pick(size_);
  actors_.emplace_back();
  Actor& actor = actors_.back();
  actor.process = h_.New(absl::StrCat("n", place % nodes_));
  if (OneIn(6)) actor.process.identity.start_time_micros = 0;  // older than the others
  actor.wish = DrawWish(place);
  Attach(actor);
  if (OneIn(2)) GoOn(actor);
  return actor;
}

// Returns the options that a launcher would give the process at this place. Sometimes they are
// wrong, or of another job.
JoinRequest RandomJoining::DrawWish(uint32_t place) {
  const Style style = style_ == Style::kAnything ? static_cast<Style>(Pick(4)) : style_;
  JoinRequest wish;
  if (places() == 0 ? !OneIn(4) : OneIn(4)) wish.world_size = size_;
  if (OneIn(24)) wish.world_size = 1 + Pick(kMostPlaces);
  if (style == Style::kRanks) wish.rank = place;
  if (style == Style::kLocalRanks) wish.local_rank = place / nodes_;
  if (style == Style::kNodeRanks) wish.node_rank = nodes_ - 1 - place % nodes_;
  if (wish.rank && OneIn(24)) wish.rank = Pick(kMostPlaces + 2);
  if (wish.rank && OneIn(4)) wish.local_rank = place / nodes_;
  return wish;
}

void RandomJoining::GoOn(Actor& actor) {
  if (actor.dead) return;
  if (!actor.connected) return Attach(actor);
  if (actor.process.epoch.number == 0) return Join(actor);
  if (elastic() && (actor.broken || OneIn(8))) Rejoin(actor);
}

void RandomJoining::Attach(Actor& actor) {
  h_.Attach(actor.process);
  actor.told = 0;
  actor.call = 0;
  const std::optional<absl::Status> end = h_.EndOf(actor.process.stream);
  Say(absl::StrCat("pid ", actor.process.identity.pid,
                   " attaches: ", end ? end->ToString() : "OK"));
  actor.connected = !end;
  if (end) actor.dead = true;
  Absorb();
}

// Joins. A second send replaces a parked one.
void RandomJoining::Join(Actor& actor) {
  if (actor.call != 0 && !OneIn(4)) return;
  actor.called = h_.now();
  actor.timeout = absl::Seconds(1 + Pick(OneIn(4) ? 5 : 200));
  actor.rejoins = false;
  Say(absl::StrCat("pid ", actor.process.identity.pid, " on ", actor.process.identity.node_id,
                   " joins", Words(actor.wish)));
  actor.call = h_.Join(actor.process, actor.wish, actor.timeout);
  Absorb();
}

void RandomJoining::Rejoin(Actor& actor) {
  if (actor.call != 0) return;
  actor.called = h_.now();
  actor.timeout = absl::Seconds(1 + Pick(200));
  actor.rejoins = true;
  Say(absl::StrCat("pid ", actor.process.identity.pid, " rejoins"));
  actor.call = h_.Rejoin(actor.process, actor.timeout);
  Absorb();
}

void RandomJoining::Cut(Actor& actor) {
  if (!actor.connected) return;
  Say(absl::StrCat("pid ", actor.process.identity.pid, " is cut off"));
  actor.connected = false;
  actor.disturbed = true;
  h_.CloseStream(actor.process);
  Absorb();
}

// Notes that a launcher has given up a place. If other processes may take all places, the job may
// still form.
void RandomJoining::NoteGivenUp(const Actor& actor) {
  if (!given_up_) given_up_ = h_.now();
  const JobStatus status = h_.coordinator().GetStatus(h_.now());
  const auto others =
      std::count_if(status.members.begin(), status.members.end(), [&](const MemberStatus& member) {
        return member.member.incarnation != actor.process.identity.incarnation;
      });
  const bool missed = status.world_size == 0 || others < status.world_size;
  if (missed && !missed_) missed_ = h_.now();
}

void RandomJoining::Kill(Actor& actor) {
  if (actor.dead) return;
  Say(absl::StrCat("pid ", actor.process.identity.pid, " dies"));
  actor.dead = true;
  actor.disturbed = true;
  const bool gives_up = OneIn(10);
  if (gives_up) NoteGivenUp(actor);
  if (gives_up || OneIn(2)) h_.ReportExit(actor.process, true, 9, gives_up ? "it was killed" : "");
  Cut(actor);
  Absorb();
}

void RandomJoining::Cancel(Actor& actor) {
  if (actor.call == 0) return;
  Say(absl::StrCat("pid ", actor.process.identity.pid, " waits no longer"));
  h_.Cancel(std::exchange(actor.call, 0));
  Absorb();
}

void RandomJoining::Pass(absl::Duration time) {
  Say(absl::StrCat("pass ", absl::FormatDuration(time)));
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
    Actor& newcomer = Start();
    if (newcomer.connected && newcomer.process.epoch.number == 0) Join(newcomer);
    Pass(options_.settle / 2);
    if (newcomer.process.epoch.number == 0) Kill(newcomer);
    CheckProgress();
  }
}

}  // namespace muster::core
