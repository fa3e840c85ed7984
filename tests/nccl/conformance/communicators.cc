// Commands that make, query and end communicators.

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

#include "tests/nccl/conformance/rank.h"

// Older versions lack these functions.
#pragma weak ncclCommRevoke
#pragma weak ncclCommInitRankScalable

namespace muster::testing {
namespace {

constexpr unsigned kPollMicroseconds = 500;

std::string IdPath(const RankState& rank, const std::string& name) {
  return rank.directory + "/id." + name;
}

ncclUniqueId ReadId(const RankState& rank, const std::string& name) {
  ncclUniqueId id = {};
  std::ifstream(IdPath(rank, name), std::ios::binary).read(id.internal, sizeof id.internal);
  return id;
}

std::string Id(RankState& rank, const Command& command) {
  if (command.Has("null")) return NameOf(ncclGetUniqueId(nullptr));
  ncclUniqueId id;
  const ncclResult_t result = ncclGetUniqueId(&id);
  std::ofstream(IdPath(rank, command.Get("name", "0")), std::ios::binary)
      .write(id.internal, sizeof id.internal);
  return NameOf(result);
}

std::string Handle(const char* name, ncclComm_t comm) {
  return std::string(" ") + name + (comm == nullptr ? "=null" : "=set");
}

ncclResult_t Init(RankState& rank, const Command& command, ncclComm_t* comm) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = command.Has("blocking") ? 1 : 0;
  if (command.Has("bad-magic")) config.magic = 1;
  if (command.Has("splitshare")) config.splitShare = 1;
  const int size = command.Number("size", rank.ranks);
  const int self = command.Number("rank", rank.number);
  const ncclUniqueId id = ReadId(rank, command.Get("id", "0"));
  ncclConfig_t* const given = command.Has("no-config") ? nullptr : &config;
  if (command.options.count("ids") == 0) {
    return ncclCommInitRankConfig(command.Has("null") ? nullptr : comm, size, id, self, given);
  }
  const int count = command.Number("ids", 1);
  std::vector<ncclUniqueId> ids;
  for (int i = 0; i < count; ++i) ids.push_back(ReadId(rank, std::to_string(i)));
  return ncclCommInitRankScalable(comm, size, self, count, ids.data(), given);
}

std::string DoInit(RankState& rank, const Command& command) {
  if (command.options.count("ids") > 0 && ncclCommInitRankScalable == nullptr) return "absent";
  ncclComm_t& comm = rank.comms[command.Get("comm", "comm")];
  comm = nullptr;
  cudaSetDevice(command.Number("device", rank.number));
  const std::string result = NameOf(Init(rank, command, &comm));
  return result + Handle("comm", comm);
}

ncclResult_t State(ncclComm_t comm) {
  ncclResult_t state = ncclSuccess;
  const ncclResult_t called = ncclCommGetAsyncError(comm, &state);
  return called == ncclSuccess ? state : called;
}

// Polls until the state is not one of `passing`, or the time is over. Returns the last state.
std::string Poll(ncclComm_t comm, const std::set<ncclResult_t>& passing, int seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  ncclResult_t state = State(comm);
  while (passing.count(state) > 0 && std::chrono::steady_clock::now() < end) {
    usleep(kPollMicroseconds);
    state = State(comm);
  }
  return NameOf(state);
}

std::string PollAs(const std::string& verb, const Command& command, ncclComm_t comm) {
  if (verb == "settle") return Poll(comm, {ncclInProgress}, command.Number("within", 20));
  if (verb == "watch") return Poll(comm, {ncclInProgress, ncclSuccess}, command.Number("for", 20));
  return Poll(comm, {ncclInProgress, ncclInvalidArgument}, command.Number("within", 20));
}

// Splits. NCCL writes the child's handle later, so its place lives as long as the process.
std::string Split(RankState& rank, const Command& command, ncclComm_t parent) {
  ncclComm_t& child = rank.comms[command.Get("child", "child")];
  const bool none = command.Get("color", "0") == "none";
  const int color = none ? NCCL_SPLIT_NOCOLOR : command.Number("color", 0);
  if (!command.Has("keep")) child = nullptr;
  const ncclResult_t result = ncclCommSplit(parent, color, command.Number("key", rank.number),
                                            command.Has("null") ? nullptr : &child, nullptr);
  return NameOf(result) + Handle("child", child);
}

std::string Revoke(const Command& command, ncclComm_t comm) {
  if (ncclCommRevoke == nullptr) return "absent";
  return NameOf(ncclCommRevoke(comm, command.Number("flags", 0)));
}

std::string Ask(ncclResult_t (*call)(const ncclComm_t, int*), ncclComm_t comm) {
  int value = -1;
  const ncclResult_t result = call(comm, &value);
  return NameOf(result) + (result == ncclSuccess ? " " + std::to_string(value) : "");
}

std::string Group(const Command& command) {
  return NameOf(command.Has("start") ? ncclGroupStart() : ncclGroupEnd());
}

#ifdef MUSTER_FAKE_NCCL
constexpr bool kFake = true;
#else
constexpr bool kFake = false;
#endif

std::string Subject() {
  int version = 0;
  ncclGetVersion(&version);
  const char* cumem = std::getenv("NCCL_CUMEM_ENABLE");
  const bool lazy = kFake || (cumem != nullptr && std::strcmp(cumem, "1") == 0);
  return "version=" + std::to_string(version) + " fake=" + (kFake ? "1" : "0") +
         " cumem=" + (lazy ? "1" : "0");
}

}  // namespace

std::string Answer(RankState& rank, const Command& command) {
  const std::string& verb = command.verb;
  const ncclComm_t comm = rank.comms[command.Get("comm", "comm")];
  if (verb == "subject") return Subject();
  if (verb == "die") raise(SIGKILL);
  if (verb == "mark" || verb == "held") return AnswerHeld(command);
  if (verb == "id") return Id(rank, command);
  if (verb == "init") return DoInit(rank, command);
  if (verb == "handle") return comm == nullptr ? "null" : "set";
  if (verb == "state") return NameOf(State(comm));
  if (verb == "settle" || verb == "watch" || verb == "recover") return PollAs(verb, command, comm);
  if (verb == "count") return Ask(ncclCommCount, comm);
  if (verb == "rank") return Ask(ncclCommUserRank, comm);
  if (verb == "device") return Ask(ncclCommCuDevice, comm);
  if (verb == "split") return Split(rank, command, comm);
  if (verb == "finalize") return NameOf(ncclCommFinalize(comm));
  if (verb == "destroy") return NameOf(ncclCommDestroy(comm));
  if (verb == "abort") return NameOf(ncclCommAbort(comm));
  if (verb == "revoke") return Revoke(command, comm);
  if (verb == "group") return Group(command);
  const std::string answer = AnswerOperation(rank, command);
  return answer.empty() ? "no such command" : answer;
}

}  // namespace muster::testing
