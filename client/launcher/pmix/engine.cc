#include "client/launcher/pmix/engine.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/text/fnv1a.h"
#include "common/text/utf8.h"

namespace muster::launcher::pmix {
namespace {

// Returns the text of an abort. Open MPI sends a placeholder if it has none.
std::string AbortText(const std::string& text) {
  return text == "N/A" ? "" : ReplaceUnprintable(text);
}

// The exchange of a fence of all ranks.
constexpr char kWholeWorld[] = "fence";

// Returns the name of the exchange of a fence between these ranks.
std::string NameOfFence(std::vector<int> ranks) {
  if (ranks.empty()) return kWholeWorld;
  std::sort(ranks.begin(), ranks.end());
  return absl::StrCat(kWholeWorld, "-", absl::Hex(Fnv1a64(absl::StrJoin(ranks, ","))));
}

}  // namespace

Engine::Engine(World world)
    : world_(std::move(world)),
      mpi_(
          world_.first_rank, world_.local_size, world_.node,
          [this](MpiEffect effect) { effects_.emplace_back(std::move(effect)); },
          /*has_other_nodes=*/world_.ranks_of_nodes.size() > 1),
      ended_(world_.local_size) {}

void Engine::Started(int local_rank) {
  mpi_.Started(local_rank);
  ended_[local_rank] = false;
}

std::optional<MpiFault> Engine::Ended(int local_rank, const ProcessEnd& end) {
  ended_[local_rank] = true;
  // PMIx was asked seconds ago which ranks wait. Their fence may have ended.
  return mpi_.Ended(local_rank, end, /*knows_waits=*/false);
}

// ---- Requests ----

Effects Engine::Receive(const Request& request, absl::Time now) {
  const int local_rank = LocalRank(request.rank);
  if (request.call == kMusterPmixWaiting) {
    if (request.world == world_.name || request.ranks.empty()) NoteWaiting(request.ranks, now);
  } else if (request.world != world_.name) {
    Reply(request.ticket, false);  // it is over
  } else if (request.call == kMusterPmixData) {
    effects_.push_back(TellData{
        request.rank, request.code == 0 ? std::optional<std::string>(request.data) : std::nullopt});
  } else if (request.call == kMusterPmixModex) {
    Modex(request);
  } else if (request.call == kMusterPmixFence) {
    Fence(request, now);
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
  mpi_.Init(local_rank, now);
  if (mpi_.local_size() > 1) next_look_ = std::min(next_look_, now + kLookInterval);
  Reply(request.ticket, true);
}

// All ranks of this node that take part are there, as PMIx counts them: without those whose
// connection is lost. A fence without them must not end, or the others would take it for whole.
void Engine::Fence(const Request& request, absl::Time now) {
  std::vector<int> living;
  std::vector<int> ended;
  for (int i = 0; i < mpi_.local_size(); ++i) {
    const bool takes_part =
        request.ranks.empty() ||
        std::count(request.ranks.begin(), request.ranks.end(), mpi_.Number(i)) > 0;
    if (takes_part) (ended_[i] ? ended : living).push_back(i);
  }
  if (!ended.empty()) {
    held_.insert(request.ticket);
    for (const int i : ended) {
      if (!living.empty()) mpi_.MissFromBarrier(i, living[0]);
    }
    return;
  }
  const std::vector<int> nodes = NodesOf(request.ranks);
  if (nodes.size() <= 1) {
    mpi_.EndBarrier();
    return Reply(request.ticket, true, request.data);
  }
  if (request.ranks.empty()) {  // PMIx no longer counts them among those that wait
    for (int i = 0; i < mpi_.local_size(); ++i) {
      if (!mpi_.Waits(i)) mpi_.EnterBarrier(i, now);
    }
  }
  const std::string exchange = NameOfFence(request.ranks);
  std::deque<FenceOfNodes>& fences = exchanges_[exchange];
  fences.push_back({request.ticket, nodes, request.data});
  if (fences.size() == 1) effects_.push_back(BeginExchange{exchange, nodes, request.data});
}

std::vector<int> Engine::NodesOf(const std::vector<int>& ranks) const {
  std::vector<int> nodes;
  for (int node = 0, first = 0; node < static_cast<int>(world_.ranks_of_nodes.size()); ++node) {
    const int end = first + world_.ranks_of_nodes[node];
    const bool takes_part = ranks.empty() || std::any_of(ranks.begin(), ranks.end(), [&](int rank) {
                              return rank >= first && rank < end;
                            });
    if (takes_part) nodes.push_back(node);
    first = end;
  }
  return nodes;
}

Effects Engine::Exchanged(const std::string& exchange, const std::vector<std::string>& parts) {
  const auto found = exchanges_.find(exchange);
  if (found == exchanges_.end()) return {};
  std::deque<FenceOfNodes>& fences = found->second;
  FenceOfNodes ended = std::move(fences.front());
  fences.pop_front();
  for (const std::string& part : parts) ended.data += part;
  Reply(ended.ticket, true, std::move(ended.data));
  if (!fences.empty()) {
    effects_.push_back(BeginExchange{exchange, fences.front().nodes, fences.front().data});
    return TakeEffects();
  }
  exchanges_.erase(found);
  if (exchange == kWholeWorld) mpi_.EndBarrier();
  return TakeEffects();
}

// libpmix itself has the data of all ranks of this node.
void Engine::Modex(const Request& request) {
  if (IsHere(LocalRank(request.rank)) || NodesOf({request.rank}).empty()) {
    return Reply(request.ticket, false);
  }
  const bool first = asked_.count(request.rank) == 0;
  asked_.emplace(request.rank, request.ticket);
  if (first) effects_.push_back(AskForData{request.rank});
}

Effects Engine::Answered(int rank, const std::optional<std::string>& data) {
  const auto [begin, end] = asked_.equal_range(rank);
  for (auto it = begin; it != end; ++it) Reply(it->second, data.has_value(), data.value_or(""));
  asked_.erase(begin, end);
  return TakeEffects();
}

Effects Engine::Fail(const std::string& why) {
  mpi_.FailWorld(why);
  return TakeEffects();
}

Effects Engine::Close() {
  for (void* ticket : std::exchange(held_, {})) Reply(ticket, false);
  for (const auto& [name, fences] : std::exchange(exchanges_, {})) {
    for (const FenceOfNodes& fence : fences) Reply(fence.ticket, false);
  }
  for (const auto& [rank, ticket] : std::exchange(asked_, {})) Reply(ticket, false);
  next_look_ = absl::InfiniteFuture();
  return TakeEffects();
}

// ---- Waits ----

void Engine::NoteWaiting(const std::vector<int>& ranks, absl::Time now) {
  if (exchanges_.count(kWholeWorld) != 0) return;  // all wait, for other nodes
  if (ranks.empty()) mpi_.EndBarrier();
  for (int rank : ranks) {
    const int local_rank = LocalRank(rank);
    if (IsHere(local_rank) && !mpi_.Waits(local_rank)) mpi_.EnterBarrier(local_rank, now);
  }
}

std::string Engine::DescribeMissing() const {
  bool known = mpi_.local_size() == 1;
  for (int i = 0; i < mpi_.local_size(); ++i) known |= mpi_.Waits(i);
  return known ? mpi_.DescribeMissingTo(MpiRanks::Reader::kOthers) : "";
}

Effects Engine::Warn(absl::Time now, const std::string& missing_elsewhere) {
  mpi_.Warn(now, missing_elsewhere);
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
