// libmuster_pmix.so: a PMIx server, by libpmix, behind the C interface of abi.h. It decides
// nothing: each call of a rank becomes a request to the launcher, from PMIx's thread, and is
// answered later from the launcher's.

#include <pmix.h>
#include <pmix_server.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "client/launcher/pmix/abi.h"
#include "client/launcher/pmix/fence_ranks.h"
#include "client/launcher/pmix/waiting_ranks.h"

namespace {

// The modules of PMIx that the server uses.
struct Modules {
  const char* variable;
  const char* chosen;
};
constexpr Modules kModules[] = {
    // Lets ranks keep their data in memory of their own. PMIx's other modules put files with locks
    // into the folder; a rank that is killed while it holds one would stop the server.
    {"PMIX_MCA_gds", "hash"},
    // Calls OnLog(). Another module would keep the texts for a reader who never comes.
    {"PMIX_MCA_plog", "default"},
};

std::atomic<void (*)(void*, const MusterPmixRequest*)> on_request{nullptr};
std::atomic<void*> request_context{nullptr};
std::atomic<bool> running{false};

// A call of a rank that waits for its answer. One of the callbacks is set.
struct Ticket {
  MusterPmixCall call;
  void* data;
  pmix_op_cbfunc_t on_done = nullptr;
  pmix_modex_cbfunc_t on_data = nullptr;
};

// Waits for the end of a call to PMIx, which comes from its thread.
class Completion {
 public:
  static void Set(pmix_status_t status, void* self) {
    static_cast<Completion*>(self)->Finish(status);
  }

  // Returns the status of the call, which has returned `immediate`.
  pmix_status_t Await(pmix_status_t immediate) {
    if (immediate == PMIX_OPERATION_SUCCEEDED) return PMIX_SUCCESS;
    if (immediate != PMIX_SUCCESS) return immediate;
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, [this] { return finished_; });
    return status_;
  }

 private:
  void Finish(pmix_status_t status) {
    const std::lock_guard<std::mutex> lock(mutex_);
    status_ = status;
    finished_ = true;
    done_.notify_one();  // with the lock, because the waiter destroys this object
  }

  std::mutex mutex_;
  std::condition_variable done_;
  bool finished_ = false;
  pmix_status_t status_ = PMIX_SUCCESS;
};

const char* ErrorText(pmix_status_t status) {
  return status == PMIX_SUCCESS ? nullptr : PMIx_Error_string(status);
}

// ---- From PMIx's thread ----

pmix_status_t Send(const MusterPmixRequest& request) {
  const auto send = on_request.load();
  if (send == nullptr) return PMIX_ERR_NOT_AVAILABLE;
  send(request_context.load(), &request);
  return PMIX_SUCCESS;
}

MusterPmixRequest RequestOf(const pmix_proc_t* process, Ticket* ticket) {
  MusterPmixRequest request = {};
  request.call = ticket->call;
  request.world = process->nspace;
  request.rank = static_cast<int>(process->rank);
  request.ticket = ticket;
  return request;
}

pmix_status_t SendDoneCall(MusterPmixCall call, const pmix_proc_t* process, int code,
                           const char* text, pmix_op_cbfunc_t done, void* data) {
  auto* ticket = new Ticket{call, data};
  ticket->on_done = done;
  MusterPmixRequest request = RequestOf(process, ticket);
  request.code = code;
  request.text = text;
  return Send(request);
}

pmix_status_t OnConnected(const pmix_proc_t* process, void* /*object*/, pmix_op_cbfunc_t done,
                          void* data) {
  return SendDoneCall(kMusterPmixInit, process, 0, nullptr, done, data);
}

pmix_status_t OnFinalized(const pmix_proc_t* process, void* /*object*/, pmix_op_cbfunc_t done,
                          void* data) {
  return SendDoneCall(kMusterPmixFinalize, process, 0, nullptr, done, data);
}

pmix_status_t OnAbort(const pmix_proc_t* process, void* /*object*/, int code, const char* text,
                      pmix_proc_t* /*targets*/, size_t /*target_count*/, pmix_op_cbfunc_t done,
                      void* data) {
  return SendDoneCall(kMusterPmixAbort, process, code, text, done, data);
}

pmix_status_t OnFence(const pmix_proc_t* processes, size_t count, const pmix_info_t* /*info*/,
                      size_t /*info_count*/, char* contribution, size_t size,
                      pmix_modex_cbfunc_t done, void* data) {
  auto* ticket = new Ticket{kMusterPmixFence, data};
  ticket->on_data = done;
  const std::vector<int> ranks = RanksOfFence(processes, count);
  MusterPmixRequest request = RequestOf(&processes[0], ticket);
  request.ranks = ranks.data();
  request.rank_count = ranks.size();
  request.data = contribution;
  request.size = size;
  const pmix_status_t status = Send(request);
  free(contribution);  // the request's reader has copied it
  return status;
}

pmix_status_t OnModex(const pmix_proc_t* process, const pmix_info_t* /*info*/,
                      size_t /*info_count*/, pmix_modex_cbfunc_t done, void* data) {
  auto* ticket = new Ticket{kMusterPmixModex, data};
  ticket->on_data = done;
  return Send(RequestOf(process, ticket));
}

// Tells the launcher of a call that it does not offer.
pmix_status_t RefuseCall(MusterPmixCall call, const pmix_proc_t* process) {
  MusterPmixRequest request = {};
  request.call = call;
  request.world = process->nspace;
  request.rank = static_cast<int>(process->rank);
  Send(request);
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t OnSpawn(const pmix_proc_t* process, const pmix_info_t* /*job_info*/,
                      size_t /*info_count*/, const pmix_app_t* /*apps*/, size_t /*app_count*/,
                      pmix_spawn_cbfunc_t /*done*/, void* /*data*/) {
  return RefuseCall(kMusterPmixSpawn, process);
}

pmix_status_t OnPublish(const pmix_proc_t* process, const pmix_info_t* /*info*/,
                        size_t /*info_count*/, pmix_op_cbfunc_t /*done*/, void* /*data*/) {
  return RefuseCall(kMusterPmixName, process);
}

pmix_status_t OnUnpublish(const pmix_proc_t* process, char** /*keys*/, const pmix_info_t* /*info*/,
                          size_t /*info_count*/, pmix_op_cbfunc_t /*done*/, void* /*data*/) {
  return RefuseCall(kMusterPmixName, process);
}

pmix_status_t OnLookup(const pmix_proc_t* process, char** /*keys*/, const pmix_info_t* /*info*/,
                       size_t /*info_count*/, pmix_lookup_cbfunc_t /*done*/, void* /*data*/) {
  return RefuseCall(kMusterPmixName, process);
}

// PMIx itself notes the files that a rank asks to be removed after its end, but only if its host
// has this call.
pmix_status_t OnJobControl(const pmix_proc_t* /*process*/, const pmix_proc_t* /*targets*/,
                           size_t /*target_count*/, const pmix_info_t* /*directives*/,
                           size_t /*directive_count*/, pmix_info_cbfunc_t /*done*/,
                           void* /*data*/) {
  return PMIX_ERR_NOT_SUPPORTED;
}

// Prints a text as lines of a rank, at once, so that other lines do not come between.
void PrintOfRank(pmix_rank_t rank, const char* text) {
  const std::string prefix = "[" + std::to_string(rank) + "] ";
  std::string lines;
  for (const char* line = text; *line != '\0';) {
    const size_t length = strcspn(line, "\n");
    lines += prefix + std::string(line, length) + "\n";
    line += length + (line[length] == '\n' ? 1 : 0);
  }
  fwrite(lines.data(), 1, lines.size(), stderr);
}

// Prints what MPI has to explain. Open MPI 5 sends that to the server, and prints nothing itself.
// The answer must come from another thread: PMIx holds a lock meanwhile that the answer takes.
void OnLog(const pmix_proc_t* process, const pmix_info_t data[], size_t count,
           const pmix_info_t /*directives*/[], size_t /*directive_count*/, pmix_op_cbfunc_t done,
           void* object) {
  for (size_t i = 0; i < count; ++i) {
    const pmix_info_t& info = data[i];
    if (info.value.type != PMIX_STRING || info.value.data.string == nullptr) continue;
    if (PMIX_CHECK_KEY(&info, PMIX_LOG_STDERR) || PMIX_CHECK_KEY(&info, PMIX_LOG_STDOUT)) {
      PrintOfRank(process->rank, info.value.data.string);
    }
  }
  SendDoneCall(kMusterPmixLog, process, 0, nullptr, done, object);
}

pmix_server_module_t Module() {
  pmix_server_module_t module = {};
  module.client_connected = OnConnected;
  module.client_finalized = OnFinalized;
  module.abort = OnAbort;
  module.fence_nb = OnFence;
  module.direct_modex = OnModex;
  module.spawn = OnSpawn;
  module.publish = OnPublish;
  module.unpublish = OnUnpublish;
  module.lookup = OnLookup;
  module.job_control = OnJobControl;
  module.log = OnLog;
  return module;
}

// The ranks that wait, as far as they are of the same world as the first.
struct WaitingRanks {
  std::string world;
  std::vector<int> ranks;

  static void Add(void* self, const char* world, int rank) {
    auto* waiting = static_cast<WaitingRanks*>(self);
    if (waiting->ranks.empty()) waiting->world = world;
    if (waiting->world == world) waiting->ranks.push_back(rank);
  }
};

void OnLook(pmix_status_t /*status*/, void* /*data*/) {
  WaitingRanks waiting;
  muster_pmix_waiting_ranks(WaitingRanks::Add, &waiting);
  MusterPmixRequest request = {};
  request.call = kMusterPmixWaiting;
  request.world = waiting.world.c_str();
  request.ranks = waiting.ranks.data();
  request.rank_count = waiting.ranks.size();
  Send(request);
}

// ---- Values for PMIx ----

// A list of keys and values. PMIx copies each value.
class Info {
 public:
  Info() = default;
  ~Info() {
    for (pmix_info_t& info : infos_) PMIX_INFO_DESTRUCT(&info);
  }
  Info(const Info&) = delete;
  Info& operator=(const Info&) = delete;

  void Add(const char* key, const std::string& value) { Load(key, value.c_str(), PMIX_STRING); }
  void AddNumber(const char* key, int value) {
    const auto number = static_cast<uint32_t>(value);
    Load(key, &number, PMIX_UINT32);
  }
  void AddShort(const char* key, int value) {
    const auto number = static_cast<uint16_t>(value);
    Load(key, &number, PMIX_UINT16);
  }
  void AddRank(const char* key, int value) {
    const auto rank = static_cast<pmix_rank_t>(value);
    Load(key, &rank, PMIX_PROC_RANK);
  }
  void AddBool(const char* key, bool value) { Load(key, &value, PMIX_BOOL); }
  // A list below a key.
  void AddList(const char* key, const Info& list) {
    pmix_data_array_t array = {};
    array.type = PMIX_INFO;
    array.size = list.infos_.size();
    array.array = const_cast<pmix_info_t*>(list.infos_.data());
    Load(key, &array, PMIX_DATA_ARRAY);
  }

  pmix_info_t* data() { return infos_.data(); }
  size_t size() const { return infos_.size(); }

 private:
  void Load(const char* key, const void* value, pmix_data_type_t type) {
    infos_.emplace_back();
    PMIX_INFO_CONSTRUCT(&infos_.back());
    PMIX_INFO_LOAD(&infos_.back(), key, value, type);
  }

  std::vector<pmix_info_t> infos_;
};

// Returns what PMIx makes of a list, "pmix[n[1:0-3]]". `make` is one of PMIx_generate_regex() and
// PMIx_generate_ppn().
std::string Compact(pmix_status_t (*make)(const char*, char**), const char* list) {
  char* made = nullptr;
  if (make(list, &made) != PMIX_SUCCESS || made == nullptr) return list;
  std::string text = made;
  free(made);
  return text;
}

void FillRank(const MusterPmixWorld& world, int local_rank, Info* rank) {
  const int number = world.first_rank + local_rank;
  rank->AddRank(PMIX_RANK, number);
  rank->AddNumber(PMIX_APPNUM, 0);
  rank->AddRank(PMIX_GLOBAL_RANK, number);
  rank->AddRank(PMIX_APP_RANK, number);
  rank->AddShort(PMIX_LOCAL_RANK, local_rank);
  rank->AddShort(PMIX_NODE_RANK, local_rank);
  rank->AddNumber(PMIX_NODEID, world.node);
  rank->Add(PMIX_HOSTNAME, world.node_name);
  rank->Add(PMIX_PROCDIR, std::string(world.folder) + "/" + std::to_string(number));
}

void FillWorld(const MusterPmixWorld& world, Info* job) {
  std::string peers;
  for (int i = 0; i < world.local_size; ++i) {
    peers += (i == 0 ? "" : ",") + std::to_string(world.first_rank + i);
  }
  job->AddNumber(PMIX_UNIV_SIZE, world.size);
  job->AddNumber(PMIX_JOB_SIZE, world.size);
  job->AddNumber(PMIX_MAX_PROCS, world.size);
  job->AddNumber(PMIX_LOCAL_SIZE, world.local_size);
  job->AddNumber(PMIX_NODE_SIZE, world.local_size);
  job->AddNumber(PMIX_NUM_NODES, world.node_count);
  job->AddNumber(PMIX_NODEID, world.node);
  job->AddNumber(PMIX_JOB_NUM_APPS, 1);
  job->AddRank(PMIX_LOCALLDR, world.first_rank);
  if (world.oversubscribed != 0) job->AddBool(PMIX_NODE_OVERSUBSCRIBED, true);
  job->Add(PMIX_NODE_MAP, Compact(PMIx_generate_regex, world.nodes));
  job->Add(PMIX_PROC_MAP, Compact(PMIx_generate_ppn, world.ranks));
  job->Add(PMIX_LOCAL_PEERS, peers);
  job->Add(PMIX_JOBID, world.name);
  job->Add(PMIX_TMPDIR, world.folder);
  job->Add(PMIX_NSDIR, world.folder);
}

pmix_proc_t ProcessOf(const char* world, int rank) {
  pmix_proc_t process;
  PMIX_LOAD_PROCID(&process, world, static_cast<pmix_rank_t>(rank));
  return process;
}

// ---- The interface ----

const char* Describe() noexcept { return PMIx_Get_version(); }

// Starts the server with kModules, unless the user has chosen others.
pmix_status_t InitWithModules(pmix_server_module_t* module, Info* info) {
  std::vector<const char*> set;
  for (const Modules& modules : kModules) {
    if (getenv(modules.variable) != nullptr) continue;
    setenv(modules.variable, modules.chosen, 1);
    set.push_back(modules.variable);
  }
  const pmix_status_t status = PMIx_server_init(module, info->data(), info->size());
  for (const char* variable : set) unsetenv(variable);
  return status;
}

const char* Start(const char* node_name, const char* folder,
                  void (*handler)(void* context, const MusterPmixRequest* request),
                  void* context) noexcept {
  static pmix_server_module_t module = Module();
  request_context = context;
  on_request = handler;
  Info info;
  info.Add(PMIX_HOSTNAME, node_name);
  info.Add(PMIX_SERVER_TMPDIR, folder);
  info.Add(PMIX_SYSTEM_TMPDIR, folder);
  info.Add(PMIX_SERVER_NSPACE, "muster-run-" + std::to_string(getpid()));
  info.AddRank(PMIX_SERVER_RANK, 0);
  const pmix_status_t status = InitWithModules(&module, &info);
  running = status == PMIX_SUCCESS;
  return ErrorText(status);
}

const char* AddWorld(const MusterPmixWorld* world) noexcept {
  Info job;
  FillWorld(*world, &job);
  for (int i = 0; i < world->local_size; ++i) {
    Info rank;
    FillRank(*world, i, &rank);
    job.AddList(PMIX_PROC_DATA, rank);
  }
  Completion added;
  pmix_status_t status = added.Await(PMIx_server_register_nspace(
      world->name, world->local_size, job.data(), job.size(), Completion::Set, &added));
  for (int i = 0; i < world->local_size && status == PMIX_SUCCESS; ++i) {
    const pmix_proc_t process = ProcessOf(world->name, world->first_rank + i);
    Completion registered;
    status = registered.Await(PMIx_server_register_client(&process, getuid(), getgid(), nullptr,
                                                          Completion::Set, &registered));
  }
  return ErrorText(status);
}

void RemoveWorld(const char* name) noexcept {
  Completion removed;
  PMIx_server_deregister_nspace(name, Completion::Set, &removed);
  removed.Await(PMIX_SUCCESS);
}

const char* Environment(const char* world, int rank, void (*set)(void*, const char*),
                        void* context) noexcept {
  const pmix_proc_t process = ProcessOf(world, rank);
  char** variables = nullptr;
  const pmix_status_t status = PMIx_server_setup_fork(&process, &variables);
  for (char** variable = variables; variable != nullptr && *variable != nullptr; ++variable) {
    set(context, *variable);
    free(*variable);
  }
  free(variables);
  return ErrorText(status);
}

pmix_status_t RefusalOf(MusterPmixCall call) {
  return call == kMusterPmixModex ? PMIX_ERR_NOT_FOUND : PMIX_ERR_NOT_SUPPORTED;
}

void Answer(void* given, int accepted, const char* data, size_t size) noexcept {
  auto* const ticket = static_cast<Ticket*>(given);
  const pmix_status_t status = accepted != 0 ? PMIX_SUCCESS : RefusalOf(ticket->call);
  if (running && ticket->on_done != nullptr) ticket->on_done(status, ticket->data);
  if (running && ticket->on_data != nullptr) {
    auto* const copy = static_cast<char*>(size == 0 ? nullptr : malloc(size));
    if (copy != nullptr) memcpy(copy, data, size);
    ticket->on_data(status, copy, copy == nullptr ? 0 : size, ticket->data, free, copy);
  }
  delete ticket;
}

// Forgetting an unknown process does nothing, but its end is reported from PMIx's thread.
void Look() noexcept {
  const pmix_proc_t nobody = ProcessOf("nobody", 0);
  PMIx_server_deregister_client(&nobody, OnLook, nullptr);
}

// A rank whose data were asked for.
struct Fetch {
  pmix_proc_t process;
};

void OnData(pmix_status_t status, char* data, size_t size, void* given) {
  const std::unique_ptr<Fetch> fetch(static_cast<Fetch*>(given));
  MusterPmixRequest request = {};
  request.call = kMusterPmixData;
  request.world = fetch->process.nspace;
  request.rank = static_cast<int>(fetch->process.rank);
  request.code = status == PMIX_SUCCESS ? 0 : 1;
  request.data = data;
  request.size = data == nullptr ? 0 : size;
  Send(request);
}

void FetchData(const char* world, int rank) noexcept {
  auto* const fetch = new Fetch{ProcessOf(world, rank)};
  const pmix_status_t status = PMIx_server_dmodex_request(&fetch->process, OnData, fetch);
  if (status != PMIX_SUCCESS) OnData(status, nullptr, 0, fetch);
}

void Stop() noexcept {
  on_request = nullptr;
  if (running.exchange(false)) PMIx_server_finalize();
}

}  // namespace

extern "C" const MusterPmix muster_pmix = {
    kMusterPmixVersion, Describe, Start, AddWorld,  RemoveWorld,
    Environment,        Answer,   Look,  FetchData, Stop,
};
