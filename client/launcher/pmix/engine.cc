#include "client/launcher/pmix/engine.h"

#include <utility>

#include "common/text/utf8.h"

namespace muster::launcher::pmix {
namespace {

// Returns the text of an abort. Open MPI sends a placeholder if it has none.
std::string AbortText(const std::string& text) {
  return text == "N/A" ? "" : ReplaceUnprintable(text);
}

}  // namespace

Engine::Engine(World world)
    : world_(std::move(world)),
      mpi_(world_.first_rank, world_.local_size, world_.node,
           [this](MpiEffect effect) { effects_.emplace_back(std::move(effect)); }),
      ended_(world_.local_size) {}

void Engine::Started(int local_rank) {
  mpi_.Started(local_rank);
  ended_[local_rank] = false;
}

std::optional<MpiFault> Engine::Ended(int local_rank, const ProcessEnd& end) {
  ended_[local_rank] = true;
  return mpi_.Ended(local_rank, end);
}

// ---- Requests ----

Effects Engine::Receive(const Request& request, absl::Time now) {
  const int local_rank = LocalRank(request.rank);
  if (request.call == kMusterPmixWaiting) {
    if (request.world == world_.name || request.ranks.empty()) NoteWaiting(request.ranks, now);
  } else if (request.call == kMusterPmixModex || request.world != world_.name) {
    // libpmix itself has the data of all ranks of this node. Other worlds are over.
    Reply(request.ticket, false);
  } else if (request.call == kMusterPmixFence) {
    Fence(request);
  } else if (IsHere(local_rank)) {
    Serve(request, local_rank, now);
  } else {
    Reply(request.ticket, false);
  }
  return TakeEffects();
}

void Engine::Serve(const Request& request, int local_rank, absl::Time now) {
  switch (request.call) {
    case kMusterPmixInit:
      return Init(request, local_rank, now);
    case kMusterPmixFinalize:
      mpi_.Finalize(local_rank);
      break;
    case kMusterPmixAbort:
      mpi_.Abort(local_rank, request.code, AbortText(request.text));
      break;
    case kMusterPmixSpawn:
      return mpi_.RefuseCall(local_rank, SpawnCall());
    case kMusterPmixName:
      return mpi_.RefuseCall(local_rank, NameService());
    default:
      break;
  }
  Reply(request.ticket, true);
}

void Engine::Init(const Request& request, int local_rank, absl::Time now) {
  if (!world_.refusal.empty()) {
    mpi_.RefuseInit(local_rank, world_.refusal);
    mpi_.Abort(local_rank, 1, "");  // Open MPI may go on alone, as if there were no launcher
    return Reply(request.ticket, false);
  }
  mpi_.Init(local_rank, now);
  if (mpi_.local_size() > 1) next_look_ = std::min(next_look_, now + kLookInterval);
  Reply(request.ticket, true);
}

// All ranks of this node that take part are there, as PMIx counts them: without those whose
// connection is lost. A fence without them must not end, or the others would take it for whole.
void Engine::Fence(const Request& request) {
  bool complete = true;
  for (int i = 0; i < mpi_.local_size(); ++i) {
    const bool takes_part =
        request.ranks.empty() ||
        std::count(request.ranks.begin(), request.ranks.end(), mpi_.Number(i)) > 0;
    if (takes_part && ended_[i]) complete = false;
  }
  if (!complete) {
    held_.insert(request.ticket);
    return;
  }
  mpi_.EndBarrier();
  Reply(request.ticket, true, request.data);
}

Effects Engine::Close() {
  for (void* ticket : std::exchange(held_, {})) Reply(ticket, false);
  next_look_ = absl::InfiniteFuture();
  return TakeEffects();
}

// ---- Waits ----

void Engine::NoteWaiting(const std::vector<int>& ranks, absl::Time now) {
  if (ranks.empty()) mpi_.EndBarrier();
  for (int rank : ranks) {
    const int local_rank = LocalRank(rank);
    if (IsHere(local_rank) && !mpi_.Waits(local_rank)) mpi_.EnterBarrier(local_rank, now);
  }
}

Effects Engine::Warn(absl::Time now) {
  mpi_.Warn(now);
  if (now >= next_look_) {
    next_look_ = active() ? now + kLookInterval : absl::InfiniteFuture();
    if (active()) effects_.push_back(Look());
  }
  return TakeEffects();
}

void Engine::Reply(void* ticket, bool accepted, std::string data) {
  if (ticket != nullptr) effects_.push_back(Answer{ticket, accepted, std::move(data)});
}

Effects Engine::TakeEffects() { return std::exchange(effects_, {}); }

}  // namespace muster::launcher::pmix
