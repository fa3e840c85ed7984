#include "client/launcher/pmi_server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <numeric>
#include <utility>
#include <variant>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/launcher/outcome/process_end.h"
#include "client/launcher/plan/node_name.h"
#include "client/launcher/pmi/process_mapping.h"
#include "common/credentials/random_bytes.h"
#include "common/process/steady_now.h"

namespace muster::launcher {
namespace {

// Limits the reads after a rank's end. Its children may go on writing to the socket.
constexpr int kMaxLastReads = 64;

// The exchange between the nodes that is a part of a barrier.
constexpr char kBarrier[] = "barrier";

// MPI libraries name their shared memory after it, so no other world of the machine may have it.
std::string WorldName(const std::string& token) { return "kvs_" + token; }

pmi::World WorldOf(const JobPlan& plan) {
  pmi::World world;
  world.first_rank = plan.GlobalRank(0);
  world.local_size = plan.nproc_per_node;
  world.size = plan.world_size();
  world.node = NodeNameOf(plan);
  if (plan.nnodes == 1) world.name = WorldName(absl::BytesToHexString(RandomBytes(8)));
  world.process_mapping = pmi::ProcessMapping(plan.RanksOfNodes());
  return world;
}

}  // namespace

PmiServer::PmiServer(const JobPlan* plan, JobStoreClient* store, EventLoop* loop, Handlers handlers)
    : plan_(*plan),
      loop_(loop),
      handlers_(std::move(handlers)),
      connections_(plan->nproc_per_node) {
  if (plan_.pmi == Pmi::kPmi1 && plan_.nnodes > 1) link_.emplace(plan, store, loop, LinkHandlers());
}

PmiServer::~PmiServer() {
  for (int i = 0; i < plan_.nproc_per_node; ++i) Close(i);
}

absl::Status PmiServer::BeginWorld() {
  if (plan_.pmi == Pmi::kPmi1) engine_.emplace(WorldOf(plan_));
  if (link_) link_->BeginWorld();
  return absl::OkStatus();
}

absl::StatusOr<MpiAccess> PmiServer::Connect(int local_rank) {
  if (!engine_) return MpiAccess();
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return StartError(errno, "socketpair");
  }
  Close(local_rank);
  connections_[local_rank] = {ends[0], ends[1]};
  engine_->Started(local_rank);
  loop_->Watch(ends[0], [this, local_rank] { OnReadable(local_rank); });
  return MpiAccess{ends[1], {}};
}

void PmiServer::CloseRankEnd(int local_rank) {
  const int fd = std::exchange(connections_[local_rank].rank_end, -1);
  if (fd >= 0) close(fd);
}

std::optional<MpiFault> PmiServer::Ended(int local_rank, const ProcessEnd& end) {
  if (!engine_) return std::nullopt;
  for (int i = 0; i < kMaxLastReads && Read(local_rank); ++i) {
  }
  Close(local_rank);
  const std::optional<MpiFault> fault = engine_->Ended(local_rank, end);
  JoinOrLeave();
  return fault;
}

absl::Time PmiServer::next_warning() const {
  if (!engine_) return absl::InfiniteFuture();
  return link_ ? std::min(engine_->next_warning(), link_->next_report()) : engine_->next_warning();
}

void PmiServer::Warn() {
  if (!engine_) return;
  if (link_) link_->Report(engine_->DescribeMissing());
  CarryOut(engine_->Warn(SteadyNow(), link_ ? link_->DescribeMissing() : ""));
}

// ---- Other nodes ----

WorldLink::Handlers PmiServer::LinkHandlers() {
  WorldLink::Handlers handlers;
  handlers.on_formed = [this](const std::string& token) {
    CarryOut(engine_->NameWorld(WorldName(token)));
  };
  handlers.on_exchanged = [this](const std::string& /*exchange*/,
                                 const std::vector<std::string>& parts) {
    pmi::Values others;
    for (const std::string& part : parts) pmi::ParseValues(part, &others);
    CarryOut(engine_->Exchanged(others));
  };
  handlers.on_asked = [](int /*rank*/) {};
  handlers.on_answered = [](int /*rank*/, const std::optional<std::string>& /*data*/) {};
  handlers.on_ended = handlers_.on_world_ended;
  handlers.on_broken = [this](const std::string& why) { CarryOut(engine_->Fail(why)); };
  return handlers;
}

void PmiServer::JoinOrLeave() {
  if (!link_) return;
  if (engine_->active()) return link_->Join();
  if (link_->joined() && engine_->AllHaveLeft()) link_->Leave();
}

void PmiServer::BeginExchange(const pmi::Values& puts) {
  if (!link_) return CarryOut(engine_->Exchanged(pmi::Values()));
  std::vector<int> nodes(plan_.nnodes);
  std::iota(nodes.begin(), nodes.end(), 0);
  link_->Begin(kBarrier, std::move(nodes), pmi::SerializeValues(puts));
}

void PmiServer::EndWorld(const pmi::WorldEnd& end) {
  if (link_) link_->End(end);
}

void PmiServer::RefuseRestart(const std::string& why) {
  if (link_) link_->RefuseRestart(why);
}

void PmiServer::Flush() {
  if (link_) link_->Flush();
}

// ---- Connections ----

void PmiServer::OnReadable(int local_rank) {
  if (Read(local_rank) || errno == EAGAIN || errno == EINTR) return;
  Close(local_rank);  // or the loop would call this again and again
}

bool PmiServer::Read(int local_rank) {
  const int fd = connections_[local_rank].fd;
  if (fd < 0) return false;
  std::array<char, 16384> bytes;
  errno = 0;
  const ssize_t size = recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (size <= 0) return false;
  const pmi::Effects effects =
      engine_->Receive(local_rank, {bytes.data(), static_cast<size_t>(size)}, SteadyNow());
  JoinOrLeave();
  CarryOut(effects);
  return true;
}

void PmiServer::Close(int local_rank) {
  CloseRankEnd(local_rank);
  const int fd = std::exchange(connections_[local_rank].fd, -1);
  if (fd < 0) return;
  loop_->Forget(fd);
  close(fd);
}

// Never blocks. A client waits for the answer to each command, so answers fit into the socket
// unless it breaks the protocol.
void PmiServer::Send(int local_rank, const std::string& line) {
  const int fd = connections_[local_rank].fd;
  if (fd < 0) return;
  const std::string bytes = line + "\n";
  const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(bytes.size())) return;
  if (sent < 0 && (errno == EPIPE || errno == ECONNRESET)) return;  // the process is gone
  CarryOut(engine_->RejectReader(local_rank));
}

void PmiServer::CarryOut(const pmi::Effects& effects) {
  for (const pmi::Effect& effect : effects) CarryOut(effect);
}

void PmiServer::CarryOut(const pmi::Effect& effect) {
  if (const auto* reply = std::get_if<pmi::Reply>(&effect)) {
    Send(reply->local_rank, reply->line);
  } else if (const auto* begin = std::get_if<pmi::BeginExchange>(&effect)) {
    BeginExchange(begin->puts);
  } else {
    // After Expel the connection stays open: at its end, MPICH 4.0 goes on as if nothing had
    // happened.
    launcher::CarryOut(handlers_, std::get<MpiEffect>(effect));
  }
}

}  // namespace muster::launcher
