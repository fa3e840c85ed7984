#include "tests/fuzz/mpi/fuzzed_launcher.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/fuzz/mpi/promise.h"

namespace muster::fuzz {

using launcher::MpiEffect;
using launcher::ProcessEnd;
using launcher::RankEnd;
namespace pmi = launcher::pmi;

FuzzedLauncher::FuzzedLauncher(MpiWorld* world, int node)
    : world_(world),
      node_(node),
      token_(absl::StrCat("t", node, "-", ++world->launchers_started)),
      client_(absl::StrCat("client-", token_)),
      nodes_({node, world->sizes, absl::StrCat("n", node), token_, world->name}),
      alive_(world->sizes[node], true),
      expelled_(world->sizes[node], false) {}

std::string FuzzedLauncher::node_name() const { return absl::StrCat("n", node_); }

// ---- The store ----

void FuzzedLauncher::Join() {
  if (nodes_.joined()) return;
  watch_.emplace(&world_->store, world_->bytes);
  Carry(nodes_.Join(client_));
}

void FuzzedLauncher::JoinOrLeave(bool active, bool all_have_left) {
  if (!linked()) return;
  if (active) return Join();
  if (nodes_.joined() && all_have_left) Carry(nodes_.Leave());
}

void FuzzedLauncher::Read(bool skips) {
  if (!watch_ || gone() || !watch_->behind()) return;
  const std::optional<WorldStore::Change> change = watch_->Next(skips);
  if (change) Take(*change);
}

void FuzzedLauncher::RepeatEvent() {
  if (!watch_ || gone()) return;
  const std::optional<WorldStore::Change> change = watch_->Repeat();
  if (change) Take(*change);
}

void FuzzedLauncher::Take(const WorldStore::Change& change) {
  Log(absl::StrCat("reads ", change.key, ": ", change.value.value_or("(deleted)")));
  Carry(nodes_.Receive(change.key, change.value, world_->now));
}

void FuzzedLauncher::HearOfClient() {
  if (!watch_ || gone() || clients_heard_of_ == world_->gone_clients.size()) return;
  const std::string& client = world_->gone_clients[clients_heard_of_++];
  Log("hears of the end of " + client);
  Carry(nodes_.LoseClient(client));
}

void FuzzedLauncher::Carry(pmi::NodesEffects effects) {
  for (const pmi::NodesEffect& effect : effects) {
    if (const auto* set = std::get_if<pmi::SetKey>(&effect)) {
      world_->store.Set(set->key, set->value);
    } else if (const auto* deleted = std::get_if<pmi::DeleteKey>(&effect)) {
      world_->store.Delete(deleted->key);
    } else if (const auto* formed = std::get_if<pmi::WorldFormed>(&effect)) {
      Log("is in the world " + formed->name);
      OnFormed(formed->name);
    } else if (const auto* ended = std::get_if<pmi::ExchangeEnded>(&effect)) {
      Log("has exchanged " + ended->exchange);
      OnExchanged(ended->exchange, ended->parts);
    } else if (const auto* asked = std::get_if<pmi::RankAsked>(&effect)) {
      Require(world_->NodeOf(asked->rank) == node_, "a node is asked for its own ranks");
      OnAsked(asked->rank);
    } else if (const auto* answered = std::get_if<pmi::RankAnswered>(&effect)) {
      OnAnswered(answered->rank, answered->data);
    } else if (const auto* over = std::get_if<pmi::WorldEnded>(&effect)) {
      NoteCause(over->end.why.empty() ? "an end without a cause" : over->end.why);
    } else {
      const std::string& why = std::get<pmi::WorldBroken>(effect).why;
      RequireReadable(why);
      Require(absl::StrContains(why, "node"), "a broken world names a node: " + why);
      Log("cannot go on: " + why);
      broken_ = true;
      OnBroken(why);
    }
  }
}

// ---- Processes ----

void FuzzedLauncher::Carry(const MpiEffect& effect) {
  if (const auto* expel = std::get_if<launcher::Expel>(&effect)) {
    Require(broken_ || !honest(expel->local_rank),
            "an honest rank is expelled only if the world is broken");
    expelled_[expel->local_rank] = true;
  } else if (const auto* blame = std::get_if<launcher::Blame>(&effect)) {
    Require(!world_->undisturbed(), "in an undisturbed world no rank is blamed");
    Require(!alive_[blame->local_rank], "a rank is blamed after its end");
    RankEnd end = {Number(blame->local_rank), 1, {}};
    end.mpi_fault = blame->fault;
    EndWorld(end);
  } else {
    RequireReadable(std::get<launcher::Announce>(effect).text);
  }
}

void FuzzedLauncher::End(int local_rank, const ProcessEnd& end) {
  if (!alive_[local_rank] || gone()) return;
  alive_[local_rank] = false;
  Log(absl::StrCat("rank ", Number(local_rank), " ", launcher::Describe(end)));
  RankEnd rank_end = {Number(local_rank), 1, end};
  rank_end.mpi_fault = EngineEnded(local_rank, end);
  Require(!expelled_[local_rank] || rank_end.mpi_fault, "an expelled rank has a fault");
  if (!rank_end.well()) EndWorld(rank_end);
}

void FuzzedLauncher::EndWorld(const RankEnd& end) {
  const std::string cause = launcher::RunOutcome("job", node_name()).Sentence(end);
  if (over() && !end.mpi_fault) return;  // a consequence
  NoteCause(cause);
  if (linked()) Carry(nodes_.End({cause, end.aborted() ? end.mpi_fault->code : std::nullopt}));
}

void FuzzedLauncher::NoteCause(const std::string& cause) {
  RequireReadable(cause);
  if (over()) return;
  Require(!world_->undisturbed(), "an undisturbed world does not end: " + cause);
  Require(world_->hostile_keys || (absl::StrContains(cause, "node n") &&
                                   (absl::StrContains(cause, "rank ") ||
                                    absl::StrContains(cause, "muster run on node n"))),
          "the cause of an end names the rank and its node, or the launcher: " + cause);
  Log("has ended: " + cause);
  cause_ = cause;
}

bool FuzzedLauncher::EndOne() {
  if (gone()) return false;
  for (int i = 0; i < size(); ++i) {
    if (!alive_[i] || (!over() && !expelled_[i])) continue;
    End(i, kKilled);
    return true;
  }
  return false;
}

void FuzzedLauncher::Kill() {
  if (gone()) return;
  Log("is killed");
  killed_ = true;
  world_->launcher_was_killed = true;
  if (nodes_.joined()) world_->gone_clients.push_back(client_);
}

bool FuzzedLauncher::ExitIfDone() {
  if (gone() || std::count(alive_.begin(), alive_.end(), true) > 0) return false;
  if (nodes_.joined() && !nodes_.settled()) return false;
  Log("exits");
  OnExit();
  exited_ = true;
  if (nodes_.joined()) world_->gone_clients.push_back(client_);
  return true;
}

// ---- The end ----

bool FuzzedLauncher::Settle() {
  if (gone()) return false;
  if (watch_ && watch_->behind()) {
    Read(false);
    return true;
  }
  if (watch_ && clients_heard_of_ < world_->gone_clients.size()) {
    HearOfClient();
    return true;
  }
  if (EndOne()) return true;
  for (int i = 0; i < size(); ++i) {
    if (alive_[i] && SettleRank(i)) return true;
  }
  return ExitIfDone();
}

// An MPI_Init() waits for nodes that have not come, also if they never come.
bool FuzzedLauncher::MayWait() const { return world_->hostile_keys || !nodes_.formed(); }

void FuzzedLauncher::CheckEnd() const {
  if (killed_) return;
  for (int i = 0; i < size(); ++i) {
    if (over()) Require(!alive_[i], "after the end of a world nobody stays");
    if (!honest(i) || over()) continue;
    Require(IsDone(i) || (!world_->undisturbed() && linked() && MayWait()),
            absl::StrCat("an honest rank is answered, or the world ends: rank ", Number(i)));
  }
}

}  // namespace muster::fuzz
