#include "tests/fuzz/mpi/pmix_launcher.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/fuzz/mpi/promise.h"

namespace muster::fuzz {

using launcher::MpiFault;
using launcher::ProcessEnd;
namespace pmix = launcher::pmix;

PmixLauncher::PmixLauncher(MpiWorld* world, PmixRecord* record, int node)
    : FuzzedLauncher(world, node),
      record_(record),
      engine_({world->first_rank(node), world->sizes[node], absl::StrCat("n", node), world->name,
               world->sizes}),
      connected_(world->sizes[node], false) {
  for (int i = 0; i < size(); ++i) {
    engine_.Started(i);
    programs_.emplace_back(record_, Number(i));
  }
}

// ---- Ranks ----

void PmixLauncher::StepRank(int local_rank) {
  if (gone()) return;
  if (world().bytes->OneIn(8)) AnswerQuestions();
  if (!alive(local_rank)) return;
  if (!honest(local_rank)) return StepDishonest(local_rank);
  StepHonest(local_rank);
}

bool PmixLauncher::StepHonest(int local_rank) {
  if (programs_[local_rank].done()) {
    End(local_rank, kClean);
    return true;
  }
  const std::optional<PmixProgram::Next> next = programs_[local_rank].TakeNext();
  if (!next) return false;
  switch (next->call) {
    case PmixProgram::Call::kInit:
      Call(kMusterPmixInit, local_rank);
      break;
    case PmixProgram::Call::kFence:
      EnterFence(local_rank, next->ranks, next->data);
      break;
    case PmixProgram::Call::kModex: {
      pmix::Request request;
      request.call = kMusterPmixModex;
      request.rank = next->rank;
      Send(std::move(request), {local_rank});
      break;
    }
    case PmixProgram::Call::kFinalize:
      Call(kMusterPmixFinalize, local_rank);
      break;
  }
  return true;
}

void PmixLauncher::StepDishonest(int local_rank) {
  ByteSource* const bytes = world().bytes;
  if (!connected_[local_rank]) {
    if (bytes->OneIn(16)) return End(local_rank, bytes->OneIn(2) ? kClean : kCrashed);
    return Call(kMusterPmixInit, local_rank);
  }
  switch (bytes->Below(16)) {
    case 0:
      return End(local_rank, bytes->OneIn(2) ? kClean : kCrashed);
    case 1:
      if (!bytes->OneIn(4)) return;
      return Call(kMusterPmixAbort, local_rank, static_cast<int>(bytes->Byte()) - 128,
                  bytes->Text(4));
    case 2:
      return Call(kMusterPmixInit, local_rank);
    case 3:
    case 4:
      return Call(kMusterPmixFinalize, local_rank);
    case 5:
      return Call(bytes->OneIn(2) ? kMusterPmixSpawn : kMusterPmixName, local_rank);
    case 6:
    case 7: {
      static const int kNoRanks[] = {std::numeric_limits<int>::min(),
                                     std::numeric_limits<int>::max(), -1, -2, 100};
      pmix::Request request;
      request.call = kMusterPmixModex;
      request.rank = bytes->OneIn(2) ? kNoRanks[bytes->Below(std::size(kNoRanks))]
                                     : static_cast<int>(bytes->Below(world().size()));
      if (bytes->OneIn(8)) request.world = "another";
      return Send(std::move(request), {local_rank});
    }
    case 8:
    case 9:
      return EnterFence(local_rank, RandomRanks(Number(local_rank)), bytes->Text(2));
    case 10:
    case 11:
      return EnterFence(local_rank, {}, bytes->Text(2));
    default:
      return EnterFence(local_rank, bytes->Pick(record_->fences), bytes->Text(2));
  }
}

// Some are of no rank, or twice there.
FenceRanks PmixLauncher::RandomRanks(int with) {
  ByteSource* const bytes = world().bytes;
  FenceRanks ranks = {with};
  for (size_t count = bytes->Below(4); count > 0; --count) {
    ranks.push_back(static_cast<int>(bytes->Below(world().size() + 1)));
  }
  if (bytes->OneIn(8)) ranks.push_back(std::numeric_limits<int>::min());
  return ranks;
}

// ---- libpmix ----

void PmixLauncher::Call(MusterPmixCall call, int local_rank, int code, const std::string& text) {
  pmix::Request request;
  request.call = call;
  request.rank = Number(local_rank);
  request.code = code;
  request.text = text;
  connected_[local_rank] = true;
  Send(std::move(request), {local_rank});
}

void PmixLauncher::EnterFence(int local_rank, const FenceRanks& ranks, const std::string& data) {
  const bool takes_part =
      ranks.empty() || std::count(ranks.begin(), ranks.end(), Number(local_rank)) > 0;
  Fence& fence = fences_[ranks];
  if (!takes_part || std::count(fence.local_ranks.begin(), fence.local_ranks.end(), local_rank) > 0)
    return;
  Log(absl::StrCat("rank ", Number(local_rank), " enters the fence of ",
                   absl::StrJoin(ranks, ",")));
  fence.local_ranks.push_back(local_rank);
  fence.data += data;
  FenceRanks ascending = ranks;
  std::sort(ascending.begin(), ascending.end());
  ++record_->entered[ascending][Number(local_rank)];
  CompleteFences();
}

void PmixLauncher::CompleteFences() {
  std::vector<FenceRanks> complete;
  for (const auto& [ranks, fence] : fences_) {
    bool all_have_come = !fence.local_ranks.empty();
    for (int i = 0; i < size(); ++i) {
      const bool takes_part =
          ranks.empty() || std::count(ranks.begin(), ranks.end(), Number(i)) > 0;
      const bool has_come =
          std::count(fence.local_ranks.begin(), fence.local_ranks.end(), i) > 0 || !alive(i);
      all_have_come = all_have_come && (has_come || !takes_part);
    }
    if (all_have_come) complete.push_back(ranks);
  }
  for (const FenceRanks& ranks : complete) {
    Fence fence = std::move(fences_.extract(ranks).mapped());
    pmix::Request request;
    request.call = kMusterPmixFence;
    request.rank = Number(fence.local_ranks[0]);
    request.ranks = ranks;
    request.data = std::move(fence.data);
    Send(std::move(request), fence.local_ranks);
  }
}

// A rank has data once it has called PMIx_Init(). libpmix waits for them as long as it is alive.
void PmixLauncher::AnswerQuestions() {
  if (std::exchange(looks_, false)) {
    pmix::Request waiting;
    waiting.call = kMusterPmixWaiting;
    const auto fence = fences_.find(FenceRanks());
    for (const int i : fence == fences_.end() ? std::vector<int>() : fence->second.local_ranks) {
      waiting.ranks.push_back(Number(i));
    }
    Send(std::move(waiting), {});
  }
  std::vector<int> unanswered;
  for (const int rank : std::exchange(asked_, {})) {
    const int local_rank = rank - Number(0);
    if (!connected_[local_rank] && alive(local_rank)) {
      unanswered.push_back(rank);
      continue;
    }
    pmix::Request answer;
    answer.call = kMusterPmixData;
    answer.rank = rank;
    answer.code = connected_[local_rank] ? 0 : 1;
    answer.data = connected_[local_rank] ? PmixRecord::DataOf(rank) : "";
    Send(std::move(answer), {});
  }
  asked_.insert(asked_.end(), unanswered.begin(), unanswered.end());
}

void PmixLauncher::Send(pmix::Request request, std::vector<int> waiting) {
  if (request.world.empty()) request.world = world().name;
  const bool is_answered =
      !waiting.empty() && request.call != kMusterPmixSpawn && request.call != kMusterPmixName;
  if (is_answered) {
    request.ticket = reinterpret_cast<void*>(++last_ticket_);  // NOLINT(performance-no-int-to-ptr)
    tickets_[last_ticket_] = std::move(waiting);
  }
  Log(absl::StrCat("call ", request.call, " of rank ", request.rank, ", ticket ",
                   is_answered ? last_ticket_ : 0));
  const pmix::Effects effects = engine_.Receive(request, world().now);
  JoinOrLeave(engine_.active(), engine_.AllHaveLeft());
  CarryOut(effects);
}

// ---- The engine ----

void PmixLauncher::CarryOut(const pmix::Effects& effects) {
  for (const pmix::Effect& effect : effects) {
    if (const auto* answer = std::get_if<pmix::Answer>(&effect)) {
      Take(*answer);
    } else if (std::holds_alternative<pmix::Look>(effect)) {
      looks_ = true;
    } else if (const auto* begin = std::get_if<pmix::BeginExchange>(&effect)) {
      Require(linked(), "one node exchanges nothing");
      Carry(nodes().Begin(begin->exchange, begin->nodes, begin->data));
    } else if (const auto* ask = std::get_if<pmix::AskForData>(&effect)) {
      Require(linked(), "one node asks no other");
      Carry(nodes().Ask(ask->rank));
    } else if (const auto* tell = std::get_if<pmix::TellData>(&effect)) {
      Carry(nodes().Answer(tell->rank, tell->data));
    } else {
      Carry(std::get<launcher::MpiEffect>(effect));
    }
  }
}

void PmixLauncher::Take(const pmix::Answer& answer) {
  const auto ticket = reinterpret_cast<uintptr_t>(answer.ticket);
  Log(absl::StrCat("ticket ", ticket, " is ", answer.accepted ? "accepted" : "refused"));
  const auto found = tickets_.extract(ticket);
  Require(!found.empty(), "a call is answered once");
  for (const int local_rank : found.mapped()) {
    if (alive(local_rank) && honest(local_rank)) {
      programs_[local_rank].Receive(answer.accepted, answer.data);
    }
  }
}

std::optional<MpiFault> PmixLauncher::EngineEnded(int local_rank, const ProcessEnd& end) {
  const std::optional<MpiFault> fault = engine_.Ended(local_rank, end);
  JoinOrLeave(engine_.active(), engine_.AllHaveLeft());
  CompleteFences();
  return fault;
}

void PmixLauncher::OnFormed(const std::string& /*name*/) { engine_.NodesAreIn(); }

void PmixLauncher::OnExchanged(const std::string& exchange, const std::vector<std::string>& parts) {
  CarryOut(engine_.Exchanged(exchange, parts));
}

void PmixLauncher::OnAnswered(int rank, const std::optional<std::string>& data) {
  CarryOut(engine_.Answered(rank, data));
}

void PmixLauncher::OnBroken(const std::string& why) { CarryOut(engine_.Fail(why)); }

void PmixLauncher::OnExit() {
  CarryOut(engine_.Close());
  Require(tickets_.empty(), "each call is answered in the end");
}

void PmixLauncher::Warn() {
  WarnBy(&engine_, [this](const auto& effects) { CarryOut(effects); });
}

// ---- The end ----

bool PmixLauncher::SettleRank(int local_rank) {
  if (!honest(local_rank)) {
    End(local_rank, world().ends_well[Number(local_rank)] ? kClean : kCrashed);
    return true;
  }
  if (!asked_.empty()) {
    const size_t before = asked_.size();
    AnswerQuestions();
    if (asked_.size() < before) return true;
  }
  return StepHonest(local_rank);
}

}  // namespace muster::fuzz
