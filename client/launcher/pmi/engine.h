#ifndef MUSTER_CLIENT_LAUNCHER_PMI_ENGINE_H_
#define MUSTER_CLIENT_LAUNCHER_PMI_ENGINE_H_

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/launcher/outcome/process_end.h"
#include "client/launcher/outcome/run_outcome.h"
#include "client/launcher/pmi/mpi_ranks.h"
#include "client/launcher/pmi/wire.h"

namespace muster::launcher::pmi {

// An MPI world, as the ranks of this node see it.
struct World {
  int first_rank = 0;  // of this node
  int local_size = 1;
  int size = 1;
  std::string node;  // its name, for messages
  // The name of the key-value space; no spaces. Empty: NameWorld() will say.
  std::string name;
  std::string process_mapping;  // left out if it is longer than a value may be
};

// ---- What the engine's caller has to do ----

// Send a line to a rank.
struct Reply {
  int local_rank;
  std::string line;  // without the newline
};
// Begin the exchange between the nodes, the part of a barrier that is not on this node, and pass
// its result to Engine::Exchanged(): what the ranks of the other nodes have put.
struct BeginExchange {
  Values puts;  // by the ranks of this node, since the last barrier
};
using Effect = std::variant<Reply, BeginExchange, MpiEffect>;
using Effects = std::vector<Effect>;

// The server's half of PMI-1 for the ranks of one node: commands, the key-value space, barriers.
// Decides only; its caller does all I/O (PmiServer). Ranks are numbered by their local rank.
//
//   Engine engine(world);
//   for (const Effect& effect : engine.Receive(2, "cmd=barrier_in\n", now)) Carry(effect);
//
// MpiRanks decides what the ends of processes mean, and which waits are announced. A rank is in MPI
// from `init` to `finalize`.
class Engine {
 public:
  // Limit of the bytes that each rank may put, keys and values together.
  static constexpr size_t kMaxBytesPerRank = 1 << 20;

  explicit Engine(World world);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Handles bytes from a rank. `now` is SteadyNow(), here and below.
  Effects Receive(int local_rank, absl::string_view bytes, absl::Time now);
  // Handles that the rank does not read its answers: it sends commands without end.
  Effects RejectReader(int local_rank);
  // Handles that all nodes are in the world, which has this name.
  Effects NameWorld(const std::string& name);
  // Handles the end of the exchange that BeginExchange began.
  Effects Exchanged(const absl::StatusOr<Values>& others);
  // Handles that the world cannot go on, for this reason.
  Effects Fail(const std::string& why);

  // Handles a new process, without the state of the one before.
  void Started(int local_rank);
  // Handles the end of the rank's process. Returns how it broke the rules of MPI, if it did.
  std::optional<MpiFault> Ended(int local_rank, const ProcessEnd& end);

  // Return what MpiRanks says.
  bool HasJoined(int local_rank) const { return mpi_.HasJoined(local_rank); }
  bool active() const { return mpi_.active(); }
  bool AllHaveLeft() const { return mpi_.AllHaveLeft(); }
  absl::Time next_warning() const { return mpi_.next_warning(); }
  Effects Warn(absl::Time now, const std::string& missing_elsewhere = "");
  std::string DescribeMissing() const { return mpi_.DescribeMissingTo(MpiRanks::Reader::kOthers); }

 private:
  // The state of one process's commands.
  struct Rank {
    bool in_spawn = false;  // in the lines of a spawn command
    int spawns_left = 0;    // further spawn commands that belong to the same call
    size_t bytes_put = 0;
    bool wants_name = false;  // has asked for the world's name, and not been answered
    LineReader lines;
  };

  void Serve(int local_rank, const std::string& line, absl::Time now);
  void Serve(int local_rank, const Command& command, absl::Time now);
  void ServeSpawn(int local_rank, const std::string& line);
  void Init(int local_rank, const Command& command, absl::Time now);
  void RefuseInit(int local_rank, const std::string& message, const std::string& why);
  // Answers the question for the world's name, if the rank has asked and the name is known.
  void AnswerName(int local_rank);
  void Put(int local_rank, const Command& command);
  void Get(int local_rank, const Command& command);
  void Abort(int local_rank, const Command& command);
  void EnterBarrier(int local_rank, absl::Time now);
  // Answers what the protocol has no command for.
  void Refuse(int local_rank, const std::string& answer, const RefusedCall& call);
  void Reject(int local_rank, const std::string& what);
  void Answer(int local_rank, std::string line);
  Effects TakeEffects();

  World world_;
  MpiRanks mpi_;
  std::vector<Rank> ranks_;  // by local rank
  Values values_;            // that ranks may get
  Values unsent_;            // put here since the last barrier
  bool exchanging_ = false;
  Effects effects_;  // of the current call
};

}  // namespace muster::launcher::pmi

#endif  // MUSTER_CLIENT_LAUNCHER_PMI_ENGINE_H_
