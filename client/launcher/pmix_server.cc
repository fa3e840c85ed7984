#include "client/launcher/pmix_server.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <numeric>
#include <system_error>
#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/launcher/outcome/process_end.h"
#include "client/launcher/plan/node_name.h"
#include "client/launcher/pmix_library.h"
#include "client/launcher/process/find_program.h"
#include "client/launcher/process/spawn.h"
#include "common/credentials/random_bytes.h"
#include "common/process/cpu_affinity.h"
#include "common/process/steady_now.h"
#include "common/text/fnv1a.h"

namespace muster::launcher {
namespace {

// Returns a node's name for PMIx, whose lists of nodes take no other letters. With several nodes,
// all of them must know it beforehand.
std::string PmixNodeName(const JobPlan& plan, int node) {
  if (plan.nnodes > 1) return absl::StrCat("muster-node-", node);
  const std::string name = NodeNameOf(plan);
  const bool simple = !name.empty() && absl::c_all_of(name, [](unsigned char letter) {
    return absl::ascii_isalnum(letter) || letter == '-' || letter == '.';
  });
  return simple ? name : absl::StrCat("muster-node-", node);
}

// Returns "0,1;2,3": the ranks of each node.
std::string RanksOfNodes(const JobPlan& plan) {
  std::vector<std::string> nodes;
  int first = 0;
  for (const int count : plan.RanksOfNodes()) {
    std::vector<int> ranks(count);
    std::iota(ranks.begin(), ranks.end(), first);
    nodes.push_back(absl::StrJoin(ranks, ","));
    first += count;
  }
  return absl::StrJoin(nodes, ";");
}

std::string NamesOfNodes(const JobPlan& plan) {
  std::vector<std::string> names;
  for (int node = 0; node < plan.nnodes; ++node) names.push_back(PmixNodeName(plan, node));
  return absl::StrJoin(names, ",");
}

// Returns whether ranks of this node share CPUs. Open MPI's ranks poll while they wait, and then
// let others run in between, if they know of it.
bool IsOversubscribed(const JobPlan& plan) {
  const size_t cpus = CpusOf(0).size();
  return cpus > 0 && static_cast<size_t>(plan.nproc_per_node) > cpus;
}

absl::StatusOr<std::string> MakeFolder() {
  const std::string parent = GetEnv("TMPDIR");
  std::string path = absl::StrCat(parent.empty() ? "/tmp" : parent, "/muster-pmix-XXXXXX");
  if (mkdtemp(path.data()) == nullptr) return StartError(errno, path);
  return path;
}

// PMIx's thread may remove some of the files at the same time. Then remove_all() gives up.
void RemoveFolder(const std::string& path) {
  constexpr int kAttempts = 10;
  std::error_code error;
  for (int i = 0; i < kAttempts && !path.empty(); ++i) {
    std::filesystem::remove_all(path, error);
    if (!error) return;
  }
}

pmix::Request CopyOf(const MusterPmixRequest& given) {
  pmix::Request request;
  request.call = static_cast<MusterPmixCall>(given.call);
  request.world = given.world;
  request.rank = given.rank;
  request.code = given.code;
  request.text = given.text == nullptr ? "" : given.text;
  request.ranks.assign(given.ranks, given.ranks + given.rank_count);
  request.data.assign(given.data == nullptr ? "" : given.data, given.size);
  request.ticket = given.ticket;
  return request;
}

}  // namespace

PmixServer::PmixServer(const JobPlan* plan, JobStoreClient* store, EventLoop* loop,
                       Handlers handlers)
    : plan_(*plan),
      oversubscribed_(IsOversubscribed(*plan)),
      loop_(loop),
      handlers_(std::move(handlers)) {
  if (plan_.nnodes > 1) link_.emplace(plan, store, loop, LinkHandlers());
}

PmixServer::~PmixServer() {
  if (library_ != nullptr) {
    loop_->Forget(requests_.fd());
    DropRequests();
    CloseWorld();
    library_->stop();
    DropRequests();
  }
  RemoveFiles();
}

void PmixServer::RemoveFiles() { RemoveFolder(folder_); }

// ---- The world ----

absl::Status PmixServer::BeginWorld() {
  if (library_ == nullptr) {
    if (absl::Status started = Start(); !started.ok()) return started;
  }
  HandleRequests();
  CloseWorld();
  const std::string name = NextName();
  if (absl::Status added = AddWorld(name); !added.ok()) return added;
  world_ = name;
  engine_.emplace(pmix::World{plan_.GlobalRank(0), plan_.nproc_per_node, NodeNameOf(plan_), name,
                              plan_.RanksOfNodes()});
  if (link_) link_->BeginWorld(name);
  return absl::OkStatus();
}

absl::Status PmixServer::Start() {
  const absl::StatusOr<const MusterPmix*> library = LoadPmixLibrary(plan_.pmix_library);
  if (!library.ok()) return library.status();
  absl::StatusOr<std::string> folder = MakeFolder();
  if (!folder.ok()) return folder.status();
  folder_ = *std::move(folder);
  PassOnNoOtherDescriptors();  // libpmix accepts connections without O_CLOEXEC
  const std::string node = PmixNodeName(plan_, plan_.node_rank);
  if (const char* error = (*library)->start(node.c_str(), folder_.c_str(), OnRequest, this)) {
    return absl::UnavailableError(absl::StrCat("cannot start the PMIx server: ", error));
  }
  library_ = *library;
  loop_->Watch(requests_.fd(), [this] { HandleRequests(); });
  return absl::OkStatus();
}

// MPI libraries name their shared memory after it, so no other world of the machine may have it.
// The ranks have it in their environment, before the nodes can tell each other anything.
std::string PmixServer::NextName() const {
  if (!link_) return absl::StrCat("muster-", absl::BytesToHexString(RandomBytes(8)));
  const std::string what =
      absl::StrCat(plan_.coordinator.ToString(), " ", plan_.job, " ", link_->next_generation());
  return absl::StrCat("muster-", absl::Hex(Fnv1a64(what), absl::kZeroPad16));
}

void PmixServer::CloseWorld() {
  if (world_.empty()) return;
  CarryOut(engine_->Close());
  library_->remove_world(world_.c_str());
  RemoveFolder(absl::StrCat(folder_, "/", std::exchange(world_, "")));
}

absl::Status PmixServer::AddWorld(const std::string& name) {
  const std::string folder = absl::StrCat(folder_, "/", name);
  if (mkdir(folder.c_str(), 0700) != 0) return StartError(errno, folder);
  for (int i = 0; i < plan_.nproc_per_node; ++i) {
    const std::string of_rank = absl::StrCat(folder, "/", plan_.GlobalRank(i));
    if (mkdir(of_rank.c_str(), 0700) != 0) return StartError(errno, of_rank);
  }
  const std::string node = PmixNodeName(plan_, plan_.node_rank);
  const std::string nodes = NamesOfNodes(plan_);
  const std::string ranks = RanksOfNodes(plan_);
  MusterPmixWorld world = {};
  world.name = name.c_str();
  world.size = plan_.world_size();
  world.first_rank = plan_.GlobalRank(0);
  world.local_size = plan_.nproc_per_node;
  world.node = plan_.node_rank;
  world.node_count = plan_.nnodes;
  world.node_name = node.c_str();
  world.nodes = nodes.c_str();
  world.ranks = ranks.c_str();
  world.folder = folder.c_str();
  world.oversubscribed = oversubscribed_ ? 1 : 0;
  if (const char* error = library_->add_world(&world)) {
    return absl::UnavailableError(absl::StrCat("cannot tell PMIx of the ranks: ", error));
  }
  return absl::OkStatus();
}

// ---- Ranks ----

absl::StatusOr<MpiAccess> PmixServer::Connect(int local_rank) {
  engine_->Started(local_rank);
  MpiAccess access;
  const char* const error = library_->environment(
      world_.c_str(), plan_.GlobalRank(local_rank),
      [](void* variables, const char* variable) {
        static_cast<std::vector<std::string>*>(variables)->push_back(variable);
      },
      &access.pmix);
  if (error != nullptr) return absl::UnavailableError(absl::StrCat("PMIx: ", error));
  // Open MPI 4 does not ask PMIx for this, but has it from its own launcher in this variable.
  if (oversubscribed_) access.pmix.push_back("OMPI_MCA_mpi_oversubscribe=1");
  return access;
}

std::optional<MpiFault> PmixServer::Ended(int local_rank, const ProcessEnd& end) {
  HandleRequests();
  const std::optional<MpiFault> fault = engine_->Ended(local_rank, end);
  JoinOrLeave();
  return fault;
}

absl::Time PmixServer::next_warning() const {
  if (!engine_) return absl::InfiniteFuture();
  return link_ ? std::min(engine_->next_warning(), link_->next_report()) : engine_->next_warning();
}

void PmixServer::Warn() {
  if (!engine_) return;
  if (link_) link_->Report(engine_->DescribeMissing());
  CarryOut(engine_->Warn(SteadyNow(), link_ ? link_->DescribeMissing() : ""));
}

// ---- Other nodes ----

WorldLink::Handlers PmixServer::LinkHandlers() {
  WorldLink::Handlers handlers;
  handlers.on_formed = [this](const std::string& /*name*/) { engine_->NodesAreIn(); };
  handlers.on_exchanged = [this](const std::string& exchange,
                                 const std::vector<std::string>& parts) {
    CarryOut(engine_->Exchanged(exchange, parts));
  };
  handlers.on_asked = [this](int rank) { library_->fetch(world_.c_str(), rank); };
  handlers.on_answered = [this](int rank, const std::optional<std::string>& data) {
    CarryOut(engine_->Answered(rank, data));
  };
  handlers.on_ended = handlers_.on_world_ended;
  handlers.on_broken = [this](const std::string& why) { CarryOut(engine_->Fail(why)); };
  return handlers;
}

void PmixServer::JoinOrLeave() {
  if (!link_) return;
  if (engine_->active()) return link_->Join();
  if (link_->joined() && engine_->AllHaveLeft()) link_->Leave();
}

void PmixServer::EndWorld(const pmi::WorldEnd& end) {
  if (link_) link_->End(end);
}

void PmixServer::RefuseRestart(const std::string& why) {
  if (link_) link_->RefuseRestart(why, NextName());
}

void PmixServer::Flush() {
  if (link_) link_->Flush();
}

// ---- Requests ----

void PmixServer::OnRequest(void* self, const MusterPmixRequest* request) {
  static_cast<PmixServer*>(self)->requests_.Add(CopyOf(*request));
}

void PmixServer::HandleRequests() {
  for (const pmix::Request& request : requests_.Take()) {
    if (!engine_) continue;
    const pmix::Effects effects = engine_->Receive(request, SteadyNow());
    JoinOrLeave();
    CarryOut(effects);
  }
}

// At the end, the handlers are gone.
void PmixServer::DropRequests() {
  for (const pmix::Request& request : requests_.Take()) {
    if (request.ticket != nullptr) library_->answer(request.ticket, 0, nullptr, 0);
  }
}

void PmixServer::CarryOut(const pmix::Effects& effects) {
  for (const pmix::Effect& effect : effects) {
    if (const auto* answer = std::get_if<pmix::Answer>(&effect)) {
      library_->answer(answer->ticket, answer->accepted ? 1 : 0, answer->data.data(),
                       answer->data.size());
    } else if (std::holds_alternative<pmix::Look>(effect)) {
      library_->look();
    } else if (const auto* begin = std::get_if<pmix::BeginExchange>(&effect)) {
      link_->Begin(begin->exchange, begin->nodes, begin->data);
    } else if (const auto* ask = std::get_if<pmix::AskForData>(&effect)) {
      link_->Ask(ask->rank);
    } else if (const auto* tell = std::get_if<pmix::TellData>(&effect)) {
      if (link_) link_->Answer(tell->rank, tell->data);
    } else {
      launcher::CarryOut(handlers_, std::get<MpiEffect>(effect));
    }
  }
}

}  // namespace muster::launcher
