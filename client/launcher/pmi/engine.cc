#include "client/launcher/pmi/engine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/launcher/outcome/rank_ranges.h"
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

Engine::Engine(World world) : world_(std::move(world)), ranks_(world_.local_size) {
  if (!TooLong(world_.process_mapping, kMaxValueLength)) {
    values_[kMappingKey] = world_.process_mapping;
  }
}

// ---- Processes ----

void Engine::Started(int local_rank) { ranks_[local_rank] = Rank(); }

std::optional<MpiFault> Engine::Ended(int local_rank, const ProcessEnd& end) {
  Rank& rank = ranks_[local_rank];
  rank.done = end.clean();
  if (!rank.fault && rank.phase == Phase::kInMpi) rank.fault = {"before MPI_Finalize()", {}};
  if (!rank.fault && rank.phase == Phase::kOutside && active()) {
    rank.fault = {absl::StrCat("before MPI_Init(), in which ", NamedRanks(RanksInMpi()),
                               " of the job waited for it"),
                  {}};
  }
  return rank.fault;
}

bool Engine::active() const { return !RanksInMpi().empty(); }

// ---- Commands ----

Effects Engine::Receive(int local_rank, absl::string_view bytes, absl::Time now) {
  Rank& rank = ranks_[local_rank];
  if (rank.expelled) return {};
  for (const std::string& line : rank.lines.Add(bytes)) {
    if (!rank.expelled) Serve(local_rank, line, now);
  }
  if (rank.lines.overflowed() && !rank.expelled) {
    Reject(local_rank, absl::StrCat("a line of more than ", kMaxLine, " bytes"));
  }
  return TakeEffects();
}

Effects Engine::RejectReader(int local_rank) {
  if (ranks_[local_rank].expelled) return {};
  Reject(local_rank, "many commands, without reading the answers");
  return TakeEffects();
}

void Engine::Serve(int local_rank, const std::string& line, absl::Time now) {
  Rank& rank = ranks_[local_rank];
  if (rank.in_spawn || line == "mcmd=spawn") return ServeSpawn(local_rank, line);
  const std::optional<Command> command = ParseCommand(line);
  if (!command) return Reject(local_rank, Shown(line));
  if (rank.phase == Phase::kOutside && command->name != "init") {
    return Reject(local_rank, Shown(line) + " before init");
  }
  Serve(local_rank, *command, now);
}

void Engine::Serve(int local_rank, const Command& command, absl::Time now) {
  Rank& rank = ranks_[local_rank];
  const std::string& name = command.name;
  if (name == "init") return Init(local_rank, command, now);
  if (name == "abort") return Abort(local_rank, command);
  if (rank.phase == Phase::kRefused) return Answer(local_rank, absl::StrCat(name, " rc=-1"));
  if (name == "put") return Put(local_rank, command);
  if (name == "get") return Get(local_rank, command);
  if (name == "barrier_in") return EnterBarrier(local_rank, now);
  if (name == "get_maxes") {
    return Answer(local_rank, absl::StrCat("maxes kvsname_max=", kMaxNameLength, " keylen_max=",
                                           kMaxKeyLength, " vallen_max=", kMaxValueLength));
  }
  if (name == "get_my_kvsname") return Answer(local_rank, "my_kvsname kvsname=" + world_.name);
  if (name == "get_appnum") return Answer(local_rank, "appnum appnum=0");
  if (name == "get_universe_size") {
    return Answer(local_rank, absl::StrCat("universe_size size=", world_.size));
  }
  if (name == "finalize") {
    rank.phase = Phase::kFinalized;
    return Answer(local_rank, "finalize_ack");
  }
  if (name == "publish_name" || name == "unpublish_name" || name == "lookup_name") {
    return Refuse(local_rank, name.substr(0, name.find('_')) + "_result", "MPI's name service",
                  "pass the port to the other program in a file");
  }
  Refuse(local_rank, name, absl::StrCat("the PMI command ", Shown(name)),
         "only PMI-1.1 is spoken here");
}

void Engine::Init(int local_rank, const Command& command, absl::Time now) {
  if (!world_.refusal.empty()) return RefuseInit(local_rank, "not_offered", world_.refusal);
  const std::optional<int> version = command.Number("pmi_version");
  if (!version) return Reject(local_rank, "an init without pmi_version");
  if (*version != 1) {
    return RefuseInit(local_rank, "PMI-1_only",
                      absl::StrCat("its MPI speaks PMI-", *version,
                                   ", and muster run speaks PMI-1: build it with an MPICH that is "
                                   "configured --with-pmi=pmi1, as Debian's is"));
  }
  ranks_[local_rank].phase = Phase::kInMpi;
  Answer(local_rank, "response_to_init pmi_version=1 pmi_subversion=1 rc=0");
  BlameEnded(
      [](const Rank& rank) { return rank.phase == Phase::kOutside; },
      absl::StrCat("without MPI_Init(), in which rank ", Number(local_rank), " waits for it"));
  if (RanksOutside().empty()) {
    init_wait_.End();
  } else if (RanksInMpi().size() == 1) {
    init_wait_.Begin(now);
  }
}

void Engine::RefuseInit(int local_rank, const std::string& message, const std::string& why) {
  Rank& rank = ranks_[local_rank];
  rank.phase = Phase::kRefused;
  rank.fault = {"could not run, because its MPI_Init() was refused", 1};
  Answer(local_rank, absl::StrCat("response_to_init pmi_version=1 pmi_subversion=1 rc=-1 msg=",
                                  OneWord(message)));
  if (std::exchange(refusal_announced_, true)) return;
  effects_.push_back(Announce{absl::StrCat("MPI_Init() of rank ", Number(local_rank), " (node ",
                                           world_.node, ") is refused: ", why)});
}

void Engine::ServeSpawn(int local_rank, const std::string& line) {
  Rank& rank = ranks_[local_rank];
  if (rank.phase == Phase::kOutside) return Reject(local_rank, Shown(line) + " before init");
  int number = 0;
  if (absl::StartsWith(line, "totspawns=") && rank.spawns_left == 0 &&
      absl::SimpleAtoi(line.substr(line.find('=') + 1), &number)) {
    rank.spawns_left = number;
  }
  rank.in_spawn = line != "endcmd";
  if (rank.in_spawn) return;
  rank.spawns_left = std::max(rank.spawns_left - 1, 0);
  if (rank.spawns_left > 0) return;  // the answer comes after the last command of the call
  Refuse(local_rank, "spawn_result", "MPI_Comm_spawn()",
         "start all ranks together, by --nproc-per-node");
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
  Rank& rank = ranks_[local_rank];
  const int code = command.Number("exitcode").value_or(1);
  const std::string* const text = command.Find("message");
  const std::string shown = text == nullptr ? "" : ReplaceUnprintable(Unescape(*text));
  // A client whose MPI_Init() was refused aborts. Then the refusal says more.
  if (rank.phase == Phase::kRefused) return Condemn(local_rank, *rank.fault);
  Condemn(local_rank,
          {absl::StrCat("called MPI_Abort(", code, ")", shown.empty() ? "" : ": ", shown), code});
}

// ---- Barriers ----

void Engine::EnterBarrier(int local_rank, absl::Time now) {
  if (ranks_[local_rank].waits) return Reject(local_rank, "barrier_in while it waits in a barrier");
  if (WaitingRanks().empty()) barrier_wait_.Begin(now);
  ranks_[local_rank].waits = true;
  BlameEnded(
      [](const Rank& rank) { return !rank.waits; },
      absl::StrCat("without the barrier in which rank ", Number(local_rank), " waits for it"));
  if (static_cast<int>(WaitingRanks().size()) < world_.local_size) return;
  exchanging_ = true;
  effects_.push_back(BeginExchange{std::exchange(unsent_, {})});
}

Effects Engine::Exchanged(const absl::StatusOr<Values>& others) {
  if (!std::exchange(exchanging_, false)) return {};
  if (!others.ok()) {
    effects_.push_back(Announce{absl::StrCat("MPI's barrier cannot end on node ", world_.node, ": ",
                                             others.status().message())});
    for (int i = 0; i < world_.local_size; ++i) {
      if (ranks_[i].waits) Condemn(i, {"after a barrier of MPI had failed", {}});
    }
    return TakeEffects();
  }
  for (const auto& [key, value] : *others) values_[key] = value;
  barrier_wait_.End();
  for (int i = 0; i < world_.local_size; ++i) {
    if (std::exchange(ranks_[i].waits, false)) Answer(i, "barrier_out");
  }
  return TakeEffects();
}

template <typename Predicate>
void Engine::BlameEnded(Predicate counts, const std::string& text) {
  for (int i = 0; i < world_.local_size; ++i) {
    Rank& rank = ranks_[i];
    if (!rank.done || rank.fault || !counts(rank)) continue;
    rank.fault = {text, {}};
    effects_.push_back(Blame{i, *rank.fault});
  }
}

// ---- Warnings ----

void Engine::Wait::Begin(absl::Time now) {
  began = now;
  next = now + kFirstWarning;
}

std::optional<std::string> Engine::Wait::TakeWarning(absl::Time now) {
  if (now < next) return std::nullopt;
  const absl::Duration lasted = now - began;
  next = began + 2 * lasted;
  return absl::FormatDuration(absl::Trunc(lasted, absl::Seconds(1)));
}

Effects Engine::Warn(absl::Time now) {
  const auto announce = [this](const std::vector<int>& ranks, absl::string_view wait) {
    effects_.push_back(
        Announce{absl::StrCat(NamedRanks(ranks), " (node ", world_.node, ") ",
                              ranks.size() == 1 ? "has" : "have", " waited ", wait)});
  };
  if (const auto lasted = barrier_wait_.TakeWarning(now)) {
    announce(WaitingRanks(), absl::StrCat(*lasted, " in a barrier of MPI for ",
                                          exchanging_ ? "the other nodes" : DescribeMissing()));
  }
  const std::vector<int> outside = RanksOutside();
  if (!active() || outside.empty()) init_wait_.End();  // its ranks have been restarted
  if (const auto lasted = init_wait_.TakeWarning(now); lasted && !barrier_wait_.lasts()) {
    announce(RanksInMpi(),
             absl::StrCat(*lasted, " in MPI_Init() for ", NamedRanks(outside), ", which ",
                          outside.size() == 1 ? "has" : "have", " not called it"));
  }
  return TakeEffects();
}

template <typename Predicate>
std::vector<int> Engine::RanksWhere(Predicate predicate) const {
  std::vector<int> ranks;
  for (int i = 0; i < world_.local_size; ++i) {
    if (predicate(ranks_[i])) ranks.push_back(Number(i));
  }
  return ranks;
}

std::vector<int> Engine::WaitingRanks() const {
  return RanksWhere([](const Rank& rank) { return rank.waits; });
}

std::vector<int> Engine::RanksInMpi() const {
  return RanksWhere([](const Rank& rank) { return rank.phase == Phase::kInMpi; });
}

std::vector<int> Engine::RanksOutside() const {
  return RanksWhere([](const Rank& rank) { return rank.phase == Phase::kOutside; });
}

std::string Engine::DescribeMissing() const {
  const std::vector<int> outside = RanksOutside();
  const std::vector<int> inside =
      RanksWhere([](const Rank& rank) { return !rank.waits && rank.phase != Phase::kOutside; });
  std::vector<std::string> parts;
  if (!outside.empty()) {
    parts.push_back(absl::StrCat(NamedRanks(outside), ", which ",
                                 outside.size() == 1 ? "has" : "have", " not called MPI_Init()"));
  }
  if (!inside.empty()) parts.push_back(absl::StrCat(NamedRanks(inside), ", in MPI but not there"));
  return absl::StrJoin(parts, ", and for ");
}

// ---- Answers ----

void Engine::Answer(int local_rank, std::string line) {
  effects_.push_back(Reply{local_rank, "cmd=" + std::move(line)});
}

void Engine::Refuse(int local_rank, const std::string& answer, const std::string& call,
                    const std::string& advice) {
  Answer(local_rank, answer + " rc=-1 msg=not_offered_by_muster_run");
  effects_.push_back(
      Announce{absl::StrCat("rank ", Number(local_rank), " (node ", world_.node, ") asks for ",
                            call, ", which muster run does not offer: ", advice)});
}

void Engine::Reject(int local_rank, const std::string& what) {
  Condemn(local_rank, {absl::StrCat("after it sent to PMI_FD what is not PMI-1: ", what), {}});
}

void Engine::Condemn(int local_rank, MpiFault fault) {
  ranks_[local_rank].fault = std::move(fault);
  ranks_[local_rank].expelled = true;
  effects_.push_back(Expel{local_rank});
}

Effects Engine::TakeEffects() { return std::exchange(effects_, {}); }

}  // namespace muster::launcher::pmi
