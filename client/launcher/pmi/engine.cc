#include "client/launcher/pmi/engine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/text/utf8.h"

namespace muster::launcher::pmi {
namespace {

constexpr char kMappingKey[] = "PMI_process_mapping";
constexpr size_t kShownBytes = 80;  // of what a rank sent, in a message

// Returns what a rank sent, for a message.
std::string Shown(absl::string_view text) {
  const absl::string_view begin = text.substr(0, kShownBytes);
  return absl::StrCat("'", ReplaceUnprintable(begin), begin.size() < text.size() ? "..." : "", "'");
}

// Returns the text as one word, because older clients end a value at a space.
std::string OneWord(absl::string_view text) { return absl::StrReplaceAll(text, {{" ", "_"}}); }

bool TooLong(const std::string& text, int limit) { return static_cast<int>(text.size()) >= limit; }

}  // namespace

Engine::Engine(World world)
    : world_(std::move(world)),
      mpi_(
          world_.first_rank, world_.local_size, world_.node,
          [this](MpiEffect effect) { effects_.emplace_back(std::move(effect)); },
          /*has_other_nodes=*/world_.name.empty()),
      ranks_(world_.local_size) {
  if (!TooLong(world_.process_mapping, kMaxValueLength)) {
    values_[kMappingKey] = world_.process_mapping;
  }
}

// ---- Processes ----

void Engine::Started(int local_rank) {
  mpi_.Started(local_rank);
  ranks_[local_rank] = Rank();
}

std::optional<MpiFault> Engine::Ended(int local_rank, const ProcessEnd& end) {
  return mpi_.Ended(local_rank, end);
}

// ---- Commands ----

Effects Engine::Receive(int local_rank, absl::string_view bytes, absl::Time now) {
  Rank& rank = ranks_[local_rank];
  if (mpi_.IsExpelled(local_rank)) return {};
  for (const std::string& line : rank.lines.Add(bytes)) {
    if (!mpi_.IsExpelled(local_rank)) Serve(local_rank, line, now);
  }
  if (rank.lines.overflowed() && !mpi_.IsExpelled(local_rank)) {
    Reject(local_rank, absl::StrCat("a line of more than ", kMaxLine, " bytes"));
  }
  return TakeEffects();
}

Effects Engine::RejectReader(int local_rank) {
  if (mpi_.IsExpelled(local_rank)) return {};
  Reject(local_rank, "many commands, without reading the answers");
  return TakeEffects();
}

void Engine::Serve(int local_rank, const std::string& line, absl::Time now) {
  if (ranks_[local_rank].in_spawn || line == "mcmd=spawn") return ServeSpawn(local_rank, line);
  const std::optional<Command> command = ParseCommand(line);
  if (!command) return Reject(local_rank, Shown(line));
  if (!mpi_.HasJoined(local_rank) && command->name != "init") {
    return Reject(local_rank, Shown(line) + " before init");
  }
  Serve(local_rank, *command, now);
}

void Engine::Serve(int local_rank, const Command& command, absl::Time now) {
  const std::string& name = command.name;
  if (name == "init") return Init(local_rank, command, now);
  if (name == "abort") return Abort(local_rank, command);
  if (mpi_.IsRefused(local_rank)) return Answer(local_rank, absl::StrCat(name, " rc=-1"));
  if (name == "put") return Put(local_rank, command);
  if (name == "get") return Get(local_rank, command);
  if (name == "barrier_in") return EnterBarrier(local_rank, now);
  if (name == "get_maxes") {
    return Answer(local_rank, absl::StrCat("maxes kvsname_max=", kMaxNameLength, " keylen_max=",
                                           kMaxKeyLength, " vallen_max=", kMaxValueLength));
  }
  if (name == "get_my_kvsname") {
    ranks_[local_rank].wants_name = true;
    return AnswerName(local_rank);
  }
  if (name == "get_appnum") return Answer(local_rank, "appnum appnum=0");
  if (name == "get_universe_size") {
    return Answer(local_rank, absl::StrCat("universe_size size=", world_.size));
  }
  if (name == "finalize") {
    mpi_.Finalize(local_rank);
    return Answer(local_rank, "finalize_ack");
  }
  if (name == "publish_name" || name == "unpublish_name" || name == "lookup_name") {
    return Refuse(local_rank, name.substr(0, name.find('_')) + "_result", NameService());
  }
  Refuse(local_rank, name,
         {absl::StrCat("the PMI command ", Shown(name)), "only PMI-1.1 is spoken here"});
}

void Engine::Init(int local_rank, const Command& command, absl::Time now) {
  const std::optional<int> version = command.Number("pmi_version");
  if (!version) return Reject(local_rank, "an init without pmi_version");
  if (*version != 1) {
    return RefuseInit(local_rank, "PMI-1_only",
                      absl::StrCat("its MPI speaks PMI-", *version,
                                   ", and muster run speaks PMI-1: build it with an MPICH that is "
                                   "configured --with-pmi=pmi1, as Debian's is"));
  }
  Answer(local_rank, "response_to_init pmi_version=1 pmi_subversion=1 rc=0");
  mpi_.Init(local_rank, now);
}

void Engine::AnswerName(int local_rank) {
  if (world_.name.empty()) return;
  if (!std::exchange(ranks_[local_rank].wants_name, false)) return;
  Answer(local_rank, "my_kvsname kvsname=" + world_.name);
}

Effects Engine::NameWorld(const std::string& name) {
  world_.name = name;
  mpi_.OtherNodesAreIn();
  for (int i = 0; i < world_.local_size; ++i) AnswerName(i);
  return TakeEffects();
}

void Engine::RefuseInit(int local_rank, const std::string& message, const std::string& why) {
  Answer(local_rank, absl::StrCat("response_to_init pmi_version=1 pmi_subversion=1 rc=-1 msg=",
                                  OneWord(message)));
  mpi_.RefuseInit(local_rank, why);
}

void Engine::ServeSpawn(int local_rank, const std::string& line) {
  Rank& rank = ranks_[local_rank];
  if (!mpi_.HasJoined(local_rank)) return Reject(local_rank, Shown(line) + " before init");
  int number = 0;
  if (absl::StartsWith(line, "totspawns=") && rank.spawns_left == 0 &&
      absl::SimpleAtoi(line.substr(line.find('=') + 1), &number)) {
    rank.spawns_left = std::max(number, 0);
  }
  rank.in_spawn = line != "endcmd";
  if (rank.in_spawn) return;
  rank.spawns_left = std::max(rank.spawns_left - 1, 0);
  if (rank.spawns_left > 0) return;  // the answer comes after the last command of the call
  Refuse(local_rank, "spawn_result", SpawnCall());
}

void Engine::Put(int local_rank, const Command& command) {
  Rank& rank = ranks_[local_rank];
  const std::string* const key = command.Find("key");
  const std::string* const value = command.Find("value");
  if (key == nullptr || key->empty() || value == nullptr) {
    return Reject(local_rank, "a put without key or value");
  }
  const auto refuse = [&](const std::string& why) {
    Answer(local_rank, "put_result rc=-1 msg=" + OneWord(why));
  };
  if (TooLong(*key, kMaxKeyLength)) {
    return refuse(absl::StrCat("the key has ", key->size(), " bytes, at most ", kMaxKeyLength - 1));
  }
  if (TooLong(Unescape(*value), kMaxValueLength)) {
    return refuse(absl::StrCat("the value is longer than ", kMaxValueLength - 1, " bytes"));
  }
  const size_t size = key->size() + value->size();
  if (rank.bytes_put + size > kMaxBytesPerRank) {
    return refuse(absl::StrCat("the rank has put more than ", kMaxBytesPerRank, " bytes"));
  }
  rank.bytes_put += size;
  values_[*key] = unsent_[*key] = *value;
  Answer(local_rank, "put_result rc=0 msg=success");
}

void Engine::Get(int local_rank, const Command& command) {
  const std::string* const key = command.Find("key");
  if (key == nullptr) return Reject(local_rank, "a get without key");
  const auto found = values_.find(*key);
  if (found != values_.end()) {
    return Answer(local_rank, "get_result rc=0 msg=success value=" + found->second);
  }
  Answer(local_rank, absl::StrCat("get_result rc=-1 msg=key_", key->substr(0, kMaxKeyLength),
                                  "_not_found value=unknown"));
}

void Engine::Abort(int local_rank, const Command& command) {
  const std::string* const text = command.Find("message");
  mpi_.Abort(local_rank, command.Number("exitcode").value_or(1),
             text == nullptr ? "" : ReplaceUnprintable(Unescape(*text)));
}

// ---- Barriers ----

void Engine::EnterBarrier(int local_rank, absl::Time now) {
  if (mpi_.Waits(local_rank)) return Reject(local_rank, "barrier_in while it waits in a barrier");
  if (!mpi_.EnterBarrier(local_rank, now)) return;
  exchanging_ = true;
  effects_.push_back(BeginExchange{std::exchange(unsent_, {})});
}

Effects Engine::Exchanged(const absl::StatusOr<Values>& others) {
  if (!std::exchange(exchanging_, false)) return {};
  if (!others.ok()) {
    mpi_.FailBarrier(std::string(others.status().message()));
    return TakeEffects();
  }
  for (const auto& [key, value] : *others) values_[key] = value;
  for (int i : mpi_.EndBarrier()) Answer(i, "barrier_out");
  return TakeEffects();
}

Effects Engine::Fail(const std::string& why) {
  exchanging_ = false;
  mpi_.FailWorld(why);
  return TakeEffects();
}

Effects Engine::Warn(absl::Time now, const std::string& missing_elsewhere) {
  mpi_.Warn(now, missing_elsewhere);
  return TakeEffects();
}

// ---- Answers ----

void Engine::Answer(int local_rank, std::string line) {
  effects_.push_back(Reply{local_rank, "cmd=" + std::move(line)});
}

void Engine::Refuse(int local_rank, const std::string& answer, const RefusedCall& call) {
  Answer(local_rank, answer + " rc=-1 msg=not_offered_by_muster_run");
  mpi_.RefuseCall(local_rank, call);
}

void Engine::Reject(int local_rank, const std::string& what) {
  mpi_.Condemn(local_rank, {absl::StrCat("after it sent to PMI_FD what is not PMI-1: ", what), {}});
}

Effects Engine::TakeEffects() { return std::exchange(effects_, {}); }

}  // namespace muster::launcher::pmi
