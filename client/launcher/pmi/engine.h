#ifndef MUSTER_CLIENT_LAUNCHER_PMI_ENGINE_H_
#define MUSTER_CLIENT_LAUNCHER_PMI_ENGINE_H_

#include <algorithm>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/launcher/outcome/process_end.h"
#include "client/launcher/outcome/run_outcome.h"
#include "client/launcher/pmi/node_exchange.h"
#include "client/launcher/pmi/wire.h"

namespace muster::launcher::pmi {

// An MPI world, as the ranks of this node see it.
struct World {
  int first_rank = 0;  // of this node
  int local_size = 1;
  int size = 1;
  std::string node;             // its name, for messages
  std::string name;             // the name of the key-value space; no spaces
  std::string process_mapping;  // left out if it is longer than a value may be
  // If not empty, every MPI_Init() is refused for this reason, a clause for the user.
  std::string refusal = {};
};

// ---- What the engine's caller has to do ----

// Send a line to a rank.
struct Reply {
  int local_rank;
  std::string line;  // without the newline
};
// Begin the exchange between the nodes, and pass its result to Engine::Exchanged().
struct BeginExchange {
  Values puts;
};
// End the rank's process. Engine::Ended() says why.
struct Expel {
  int local_rank;
};
// The run has failed, because ranks wait for this one, whose process ended with status 0 before.
struct Blame {
  int local_rank;
  MpiFault fault;
};
// Print a line for the user.
struct Announce {
  std::string text;
};
using Effect = std::variant<Reply, BeginExchange, Expel, Blame, Announce>;
using Effects = std::vector<Effect>;

// The server's half of PMI-1 for the ranks of one node: commands, the key-value space, barriers.
// Decides only; its caller does all I/O (PmiServer). Ranks are numbered by their local rank.
//
//   Engine engine(world);
//   for (const Effect& effect : engine.Receive(2, "cmd=barrier_in\n", now)) Carry(effect);
//
// A rank is in MPI from `init` to `finalize`. If its process ends in between, the world is broken.
// So it is if one process ends without `init` and another one calls it: MPI_Init() waits for all
// ranks. The engine may not see this wait, because MPICH 5 waits in the node's shared memory.
class Engine {
 public:
  // A barrier, or an MPI_Init(), that lasts so long is announced, with the missing ranks; again
  // when it has lasted twice as long, and so on.
  static constexpr absl::Duration kFirstWarning = absl::Seconds(10);
  // Limit of the bytes that each rank may put, keys and values together.
  static constexpr size_t kMaxBytesPerRank = 1 << 20;

  explicit Engine(World world);

  // Handles bytes from a rank. `now` is SteadyNow(), here and below.
  Effects Receive(int local_rank, absl::string_view bytes, absl::Time now);
  // Handles that the rank does not read its answers: it sends commands without end.
  Effects RejectReader(int local_rank);
  // Handles the end of the exchange that BeginExchange began.
  Effects Exchanged(const absl::StatusOr<Values>& others);

  // Handles a new process, without the state of the one before.
  void Started(int local_rank);
  // Handles the end of the rank's process. Returns how it broke the rules of MPI, if it did.
  std::optional<MpiFault> Ended(int local_rank, const ProcessEnd& end);

  // Returns whether this process has called MPI_Init(). Then no other process can take its place.
  bool HasJoined(int local_rank) const { return ranks_[local_rank].phase != Phase::kOutside; }
  // Returns whether any rank is in MPI now.
  bool active() const;

  // Returns when Warn() is due, else infinite future.
  absl::Time next_warning() const { return std::min(barrier_wait_.next, init_wait_.next); }
  Effects Warn(absl::Time now);

 private:
  enum class Phase { kOutside, kInMpi, kFinalized, kRefused };
  struct Rank {
    Phase phase = Phase::kOutside;
    bool done = false;      // its process has ended with status 0
    bool waits = false;     // in the barrier
    bool expelled = false;  // its lines are ignored
    bool in_spawn = false;  // in the lines of a spawn command
    int spawns_left = 0;    // further spawn commands that belong to the same call
    size_t bytes_put = 0;
    LineReader lines;
    std::optional<MpiFault> fault;
  };
  // A wait of some ranks for others, and when it is announced next.
  struct Wait {
    absl::Time began;
    absl::Time next = absl::InfiniteFuture();

    void Begin(absl::Time now);
    void End() { next = absl::InfiniteFuture(); }
    bool lasts() const { return next != absl::InfiniteFuture(); }
    // Returns how long it has lasted, in words, if it is time to announce it.
    std::optional<std::string> TakeWarning(absl::Time now);
  };

  int Number(int local_rank) const { return world_.first_rank + local_rank; }
  void Serve(int local_rank, const std::string& line, absl::Time now);
  void Serve(int local_rank, const Command& command, absl::Time now);
  void ServeSpawn(int local_rank, const std::string& line);
  void Init(int local_rank, const Command& command, absl::Time now);
  void RefuseInit(int local_rank, const std::string& message, const std::string& why);
  void Put(int local_rank, const Command& command);
  void Get(int local_rank, const Command& command);
  void Abort(int local_rank, const Command& command);
  void EnterBarrier(int local_rank, absl::Time now);
  // Answers what the protocol has no command for.
  void Refuse(int local_rank, const std::string& answer, const std::string& call,
              const std::string& advice);
  void Reject(int local_rank, const std::string& what);
  void Condemn(int local_rank, MpiFault fault);
  void Answer(int local_rank, std::string line);
  // Blames the ranks that have ended, among those that `counts` selects.
  template <typename Predicate>
  void BlameEnded(Predicate counts, const std::string& text);
  // Returns the numbers of the ranks that the predicate selects.
  template <typename Predicate>
  std::vector<int> RanksWhere(Predicate predicate) const;
  std::vector<int> WaitingRanks() const;
  std::vector<int> RanksInMpi() const;
  std::vector<int> RanksOutside() const;
  std::string DescribeMissing() const;
  Effects TakeEffects();

  const World world_;
  std::vector<Rank> ranks_;  // by local rank
  Values values_;            // that ranks may get
  Values unsent_;            // put here since the last barrier
  bool exchanging_ = false;
  bool refusal_announced_ = false;
  Wait barrier_wait_;
  Wait init_wait_;   // from the first MPI_Init() of the world until all ranks have called it
  Effects effects_;  // of the current call
};

}  // namespace muster::launcher::pmi

#endif  // MUSTER_CLIENT_LAUNCHER_PMI_ENGINE_H_
