#include "client/launcher/pmi/mpi_ranks.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "client/launcher/outcome/rank_ranges.h"

namespace muster::launcher {
namespace {

const std::string& kOtherNodes = *new std::string("the other nodes");

}  // namespace

MpiRanks::MpiRanks(int first_rank, int local_size, std::string node, Sink sink,
                   bool has_other_nodes)
    : first_rank_(first_rank),
      node_(std::move(node)),
      sink_(std::move(sink)),
      ranks_(local_size),
      waits_for_nodes_(has_other_nodes) {}

// ---- Processes ----

std::optional<MpiFault> MpiRanks::Ended(int local_rank, const ProcessEnd& end, bool knows_waits) {
  Rank& rank = ranks_[local_rank];
  rank.done = end.clean();
  if (!rank.fault && rank.phase == Phase::kInMpi) rank.fault = {"before MPI_Finalize()", {}};
  if (!rank.fault && rank.phase == Phase::kOutside && active()) {
    rank.fault = {absl::StrCat("before MPI_Init(), in which ", NamedRanks(RanksInMpi()),
                               " of the job waited for it"),
                  {}};
  }
  const std::vector<int> waiting = knows_waits ? WaitingRanks() : std::vector<int>();
  if (!rank.fault && rank.phase == Phase::kFinalized && !rank.waits && !waiting.empty()) {
    rank.fault = {absl::StrCat("without the barrier in which ", NamedRanks(waiting),
                               waiting.size() == 1 ? " waits" : " wait", " for it"),
                  {}};
  }
  return rank.fault;
}

bool MpiRanks::AllHaveLeft() const {
  const std::vector<int> staying = RanksWhere([](const Rank& rank) {
    return rank.phase == Phase::kInMpi || (rank.phase == Phase::kOutside && !rank.done);
  });
  return staying.empty() && static_cast<int>(RanksOutside().size()) < local_size();
}

// ---- Calls ----

void MpiRanks::Init(int local_rank, absl::Time now) {
  ranks_[local_rank].phase = Phase::kInMpi;
  BlameEnded(
      [](const Rank& rank) { return rank.phase == Phase::kOutside; },
      absl::StrCat("without MPI_Init(), in which rank ", Number(local_rank), " waits for it"));
  if (RanksOutside().empty() && !waits_for_nodes_) {
    init_wait_.End();
  } else if (RanksInMpi().size() == 1) {
    init_wait_.Begin(now);
  }
}

void MpiRanks::OtherNodesAreIn() {
  waits_for_nodes_ = false;
  if (RanksOutside().empty()) init_wait_.End();
}

void MpiRanks::RefuseInit(int local_rank, const std::string& why) {
  Rank& rank = ranks_[local_rank];
  rank.phase = Phase::kRefused;
  rank.fault = {"could not run, because its MPI_Init() was refused", 1};
  if (std::exchange(refusal_announced_, true)) return;
  sink_(Announce{absl::StrCat("MPI_Init() of rank ", Number(local_rank), " (node ", node_,
                              ") is refused: ", why)});
}

void MpiRanks::Abort(int local_rank, int code, const std::string& text) {
  // A client whose MPI_Init() was refused aborts. Then the refusal says more.
  if (IsRefused(local_rank)) return Condemn(local_rank, *ranks_[local_rank].fault);
  Condemn(local_rank,
          {absl::StrCat("called MPI_Abort(", code, ")", text.empty() ? "" : ": ", text), code});
}

void MpiRanks::RefuseCall(int local_rank, const RefusedCall& call) {
  sink_(Announce{absl::StrCat("rank ", Number(local_rank), " (node ", node_, ") asks for ",
                              call.name, ", which muster run does not offer: ", call.advice)});
}

void MpiRanks::Condemn(int local_rank, MpiFault fault) {
  ranks_[local_rank].fault = std::move(fault);
  ranks_[local_rank].expelled = true;
  sink_(Expel{local_rank});
}

// ---- Barriers ----

bool MpiRanks::EnterBarrier(int local_rank, absl::Time now) {
  if (WaitingRanks().empty()) barrier_wait_.Begin(now);
  ranks_[local_rank].waits = true;
  BlameEnded(
      [](const Rank& rank) { return !rank.waits; },
      absl::StrCat("without the barrier in which rank ", Number(local_rank), " waits for it"));
  return static_cast<int>(WaitingRanks().size()) == local_size();
}

std::vector<int> MpiRanks::EndBarrier() {
  barrier_wait_.End();
  std::vector<int> local_ranks;
  for (int i = 0; i < local_size(); ++i) {
    if (std::exchange(ranks_[i].waits, false)) local_ranks.push_back(i);
  }
  return local_ranks;
}

void MpiRanks::MissFromBarrier(int ended_rank, int waiting_rank) {
  BlameEnded(
      [&](const Rank& rank) { return &rank == &ranks_[ended_rank]; },
      absl::StrCat("without the barrier in which rank ", Number(waiting_rank), " waits for it"));
}

void MpiRanks::FailBarrier(const std::string& why) {
  sink_(Announce{absl::StrCat("MPI's barrier cannot end on node ", node_, ": ", why)});
  for (int i = 0; i < local_size(); ++i) {
    if (ranks_[i].waits) Condemn(i, {"after a barrier of MPI had failed", {}});
  }
}

void MpiRanks::FailWorld(const std::string& why) {
  sink_(Announce{absl::StrCat("MPI cannot go on on node ", node_, ": ", why)});
  for (int i = 0; i < local_size(); ++i) {
    if (ranks_[i].phase == Phase::kInMpi && !ranks_[i].expelled) {
      Condemn(i, {"after MPI had failed between the nodes", {}});
    }
  }
}

template <typename Predicate>
void MpiRanks::BlameEnded(Predicate counts, const std::string& text) {
  for (int i = 0; i < local_size(); ++i) {
    Rank& rank = ranks_[i];
    if (!rank.done || rank.fault || !counts(rank)) continue;
    rank.fault = {text, {}};
    sink_(Blame{i, *rank.fault});
  }
}

// ---- Warnings ----

void MpiRanks::Wait::Begin(absl::Time now) {
  began = now;
  next = now + kFirstWarning;
}

std::optional<std::string> MpiRanks::Wait::TakeWarning(absl::Time now) {
  if (now < next) return std::nullopt;
  const absl::Duration lasted = now - began;
  next = began + 2 * lasted;
  return absl::FormatDuration(absl::Trunc(lasted, absl::Seconds(1)));
}

void MpiRanks::Warn(absl::Time now, const std::string& missing_elsewhere) {
  const std::string& elsewhere = missing_elsewhere.empty() ? kOtherNodes : missing_elsewhere;
  const std::vector<int> waiting = WaitingRanks();
  if (const auto lasted = barrier_wait_.TakeWarning(now)) {
    const bool all_are_here = static_cast<int>(waiting.size()) == local_size();
    AnnounceWait(waiting,
                 absl::StrCat(*lasted, " in a barrier of MPI for ",
                              all_are_here ? elsewhere : DescribeMissingTo(Reader::kHere)));
  }
  const std::vector<int> outside = RanksOutside();
  // Its ranks may have been restarted.
  if (!active() || (outside.empty() && !waits_for_nodes_)) init_wait_.End();
  if (const auto lasted = init_wait_.TakeWarning(now); lasted && !barrier_wait_.lasts()) {
    const std::string here = absl::StrCat(NamedRanks(outside), ", which ",
                                          outside.size() == 1 ? "has" : "have", " not called it");
    AnnounceWait(RanksInMpi(),
                 absl::StrCat(*lasted, " in MPI_Init() for ", outside.empty() ? elsewhere : here));
  }
}

void MpiRanks::AnnounceWait(const std::vector<int>& ranks, const std::string& wait) {
  sink_(Announce{absl::StrCat(NamedRanks(ranks), " (node ", node_, ") ",
                              ranks.size() == 1 ? "has" : "have", " waited ", wait)});
}

template <typename Predicate>
std::vector<int> MpiRanks::RanksWhere(Predicate predicate) const {
  std::vector<int> ranks;
  for (int i = 0; i < local_size(); ++i) {
    if (predicate(ranks_[i])) ranks.push_back(Number(i));
  }
  return ranks;
}

std::vector<int> MpiRanks::WaitingRanks() const {
  return RanksWhere([](const Rank& rank) { return rank.waits; });
}

std::vector<int> MpiRanks::RanksInMpi() const {
  return RanksWhere([](const Rank& rank) { return rank.phase == Phase::kInMpi; });
}

std::vector<int> MpiRanks::RanksOutside() const {
  return RanksWhere([](const Rank& rank) { return rank.phase == Phase::kOutside; });
}

std::string MpiRanks::DescribeMissingTo(Reader reader) const {
  const std::string node = reader == Reader::kHere ? "" : absl::StrCat(" (node ", node_, ")");
  const std::vector<int> outside = RanksOutside();
  const std::vector<int> inside =
      RanksWhere([](const Rank& rank) { return !rank.waits && rank.phase != Phase::kOutside; });
  std::vector<std::string> parts;
  if (!outside.empty()) {
    parts.push_back(absl::StrCat(NamedRanks(outside), node, ", which ",
                                 outside.size() == 1 ? "has" : "have", " not called MPI_Init()"));
  }
  if (!inside.empty())
    parts.push_back(absl::StrCat(NamedRanks(inside), node, ", in MPI but not there"));
  return absl::StrJoin(parts, ", and for ");
}

}  // namespace muster::launcher
