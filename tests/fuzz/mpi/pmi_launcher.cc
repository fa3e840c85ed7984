#include "tests/fuzz/mpi/pmi_launcher.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/launcher/pmi/process_mapping.h"
#include "client/launcher/pmi/wire.h"
#include "tests/fuzz/mpi/pmi_noise.h"
#include "tests/fuzz/mpi/promise.h"

namespace muster::fuzz {

using launcher::MpiFault;
using launcher::ProcessEnd;
namespace pmi = launcher::pmi;

namespace {

// The lines of a program that leaves MPI without waiting for the others.
const char* const kHastyProgram[] = {"cmd=init pmi_version=1 pmi_subversion=1\n",
                                     "cmd=get_my_kvsname\n", "cmd=barrier_in\n", "cmd=finalize\n"};

pmi::World WorldOf(const MpiWorld& world, int node) {
  pmi::World of_node;
  of_node.first_rank = world.first_rank(node);
  of_node.local_size = world.sizes[node];
  of_node.size = world.size();
  of_node.node = absl::StrCat("n", node);
  if (world.node_count() == 1) of_node.name = "kvs_1";
  of_node.process_mapping = pmi::ProcessMapping(world.sizes);
  return of_node;
}

}  // namespace

PmiLauncher::PmiLauncher(MpiWorld* world, PmiRecord* record, int node)
    : FuzzedLauncher(world, node),
      record_(record),
      engine_(WorldOf(*world, node)),
      connections_(world->sizes[node]) {
  for (int i = 0; i < size(); ++i) {
    engine_.Started(i);
    programs_.emplace_back(record_, Number(i));
  }
}

// ---- Ranks ----

void PmiLauncher::StepRank(int local_rank) {
  if (gone() || !alive(local_rank)) return;
  if (honest(local_rank)) return StepHonest(local_rank, 1 + world().bytes->Byte());
  StepDishonest(local_rank);
}

void PmiLauncher::StepHonest(int local_rank, size_t most) {
  std::string& unsent = connections_[local_rank].unsent;
  if (programs_[local_rank].done()) return End(local_rank, kClean);
  if (unsent.empty()) unsent = programs_[local_rank].Next().value_or("");
  if (unsent.empty()) return;
  const std::string piece = unsent.substr(0, most);
  unsent.erase(0, most);
  Send(local_rank, piece);
}

void PmiLauncher::StepDishonest(int local_rank) {
  Connection& connection = connections_[local_rank];
  if (!connection.closed && connection.next_hasty < std::size(kHastyProgram) &&
      world().bytes->OneIn(2)) {
    if (world().bytes->OneIn(4)) ++connection.next_hasty;  // it leaves a line out
    if (connection.next_hasty == std::size(kHastyProgram)) return;
    return Send(local_rank, kHastyProgram[connection.next_hasty++]);
  }
  switch (world().bytes->Below(32)) {
    case 0:
      return End(local_rank, kClean);
    case 1:
      return End(local_rank, kCrashed);
    case 2:
      connection.closed = true;
      return;
    case 3:
      return CarryOut(engine_.RejectReader(local_rank));
    case 4:
      if (connection.closed || !std::exchange(world().may_put_much, false)) return;
      return Send(local_rank, ManyPuts());
    default:
      if (!connection.closed) Send(local_rank, DishonestBytes(world().bytes));
  }
}

void PmiLauncher::Send(int local_rank, absl::string_view bytes) {
  Log(absl::StrCat("rank ", Number(local_rank), honest(local_rank) ? " sends " : " SENDS ", bytes));
  NoteSent(local_rank, bytes);
  const size_t accepted = connections_[local_rank].accepted_puts;
  const pmi::Effects effects = engine_.Receive(local_rank, bytes, world().now);
  JoinOrLeave(engine_.active(), engine_.AllHaveLeft());
  CarryOut(effects);
  Require(bytes.size() < pmi::Engine::kMaxBytesPerRank ||
              (connections_[local_rank].accepted_puts - accepted) * pmi::kMaxValueLength <=
                  pmi::Engine::kMaxBytesPerRank,
          "a rank puts no more than its limit");
  Require(connections_[local_rank].line.size() <= pmi::kMaxLine || IsExpelled(local_rank),
          "a line that is too long ends its rank");
}

// Notes what the oracle has to know of bytes from a rank.
void PmiLauncher::NoteSent(int local_rank, absl::string_view bytes) {
  Connection& connection = connections_[local_rank];
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    absl::StrAppend(&connection.line, bytes.substr(0, end));
    if (end == absl::string_view::npos) break;
    bytes.remove_prefix(end + 1);
    const std::string line = std::exchange(connection.line, "");
    if (absl::StrContains(line, "barrier_in")) ++connection.entered;
    int& entered = record_->entered[Number(local_rank)];
    entered = std::max(entered, connection.entered);
    const bool is_special =
        absl::StrContains(line, "=own") || absl::StrContains(line, "PMI_process_mapping");
    if (!honest(local_rank) && is_special) record_->spoilt = true;
  }
}

// ---- The engine ----

std::optional<MpiFault> PmiLauncher::EngineEnded(int local_rank, const ProcessEnd& end) {
  const std::optional<MpiFault> fault = engine_.Ended(local_rank, end);
  JoinOrLeave(engine_.active(), engine_.AllHaveLeft());
  return fault;
}

void PmiLauncher::OnFormed(const std::string& name) { CarryOut(engine_.NameWorld("kvs_" + name)); }

void PmiLauncher::OnExchanged(const std::string& /*exchange*/,
                              const std::vector<std::string>& parts) {
  pmi::Values others;
  for (const std::string& part : parts) pmi::ParseValues(part, &others);
  CarryOut(engine_.Exchanged(others));
}

void PmiLauncher::OnBroken(const std::string& why) { CarryOut(engine_.Fail(why)); }

void PmiLauncher::Warn() {
  WarnBy(&engine_, [this](const auto& effects) { CarryOut(effects); });
}

void PmiLauncher::CarryOut(const pmi::Effects& effects) {
  for (const pmi::Effect& effect : effects) {
    if (const auto* reply = std::get_if<pmi::Reply>(&effect)) {
      Answer(reply->local_rank, reply->line);
    } else if (const auto* begin = std::get_if<pmi::BeginExchange>(&effect)) {
      if (!linked()) {
        CarryOut(engine_.Exchanged(pmi::Values()));
        continue;
      }
      std::vector<int> all(world().node_count());
      std::iota(all.begin(), all.end(), 0);
      Carry(nodes().Begin("barrier", all, pmi::SerializeValues(begin->puts)));
    } else {
      Carry(std::get<launcher::MpiEffect>(effect));
    }
  }
}

void PmiLauncher::Answer(int local_rank, const std::string& line) {
  Require(line.size() <= pmi::kMaxLine && line.find('\n') == std::string::npos,
          "an answer is one line, which a client can read");
  if (!alive(local_rank)) return;
  Log(absl::StrCat("rank ", Number(local_rank), " is answered ", line));
  if (honest(local_rank)) return programs_[local_rank].Receive(line);
  if (line == "cmd=put_result rc=0 msg=success") ++connections_[local_rank].accepted_puts;
}

// ---- The end ----

bool PmiLauncher::SettleRank(int local_rank) {
  if (!honest(local_rank)) {
    End(local_rank, world().ends_well[Number(local_rank)] ? kClean : kCrashed);
    return true;
  }
  Connection& connection = connections_[local_rank];
  if (!programs_[local_rank].done() && connection.unsent.empty()) {
    connection.unsent = programs_[local_rank].Next().value_or("");
    if (connection.unsent.empty()) return false;
  }
  StepHonest(local_rank, connection.unsent.size() + 1);
  return true;
}

}  // namespace muster::fuzz
