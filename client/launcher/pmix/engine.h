#ifndef MUSTER_CLIENT_LAUNCHER_PMIX_ENGINE_H_
#define MUSTER_CLIENT_LAUNCHER_PMIX_ENGINE_H_

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "client/launcher/outcome/process_end.h"
#include "client/launcher/outcome/run_outcome.h"
#include "client/launcher/pmi/mpi_ranks.h"
#include "client/launcher/pmix/abi.h"

namespace muster::launcher::pmix {

// An MPI world, as the ranks of this node see it.
struct World {
  int first_rank = 0;  // of this node
  int local_size = 1;
  std::string node;                      // its name, for messages
  std::string name;                      // of the world
  std::vector<int> ranks_of_nodes = {};  // how many ranks each node has
};

// A copy of a MusterPmixRequest.
struct Request {
  MusterPmixCall call = kMusterPmixInit;
  std::string world = {};
  int rank = 0;
  int code = 0;
  std::string text = {};
  std::vector<int> ranks = {};
  std::string data = {};
  void* ticket = nullptr;
};

// ---- What the engine's caller has to do, beside MpiEffect ----

// Pass this to MusterPmix::answer().
struct Answer {
  void* ticket;
  bool accepted;
  std::string data = {};
};
// Call MusterPmix::look().
struct Look {};
// Begin an exchange between these nodes, and pass its result to Engine::Exchanged(). `exchange`
// names the ranks that take part.
struct BeginExchange {
  std::string exchange;
  std::vector<int> nodes;
  std::string data;
};
// Ask for the data of a rank of another node, and pass them to Engine::Answered().
struct AskForData {
  int rank;
};
// Tell the other nodes the data of a rank of this node; unset: it has none.
struct TellData {
  int rank;
  std::optional<std::string> data;
};
using Effect = std::variant<Answer, Look, BeginExchange, AskForData, TellData, MpiEffect>;
using Effects = std::vector<Effect>;

// Decides what the ranks of one node are answered to their calls of PMIx. libpmix, behind abi.h,
// holds their data and counts the ranks in a fence; MpiRanks decides what the ends of processes
// mean, and which waits are announced. Its caller does all I/O (PmixServer).
//
// A rank is in MPI from PMIx_Init() to PMIx_Finalize().
class Engine {
 public:
  // How often PMIx is asked which ranks wait in a fence, while there is more than one rank.
  static constexpr absl::Duration kLookInterval = absl::Seconds(2);

  explicit Engine(World world);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // `now` is SteadyNow(), here and below.
  Effects Receive(const Request& request, absl::Time now);
  // Handles that all nodes are in the world.
  void NodesAreIn() { mpi_.OtherNodesAreIn(); }
  // Handles the end of the exchange that BeginExchange began: the data of the other nodes.
  Effects Exchanged(const std::string& exchange, const std::vector<std::string>& parts);
  // Handles the answer to AskForData.
  Effects Answered(int rank, const std::optional<std::string>& data);
  // Handles that the world cannot go on, for this reason.
  Effects Fail(const std::string& why);
  // Ends the world. Answers all that wait.
  Effects Close();

  // Handles a new process, without the state of the one before.
  void Started(int local_rank);
  // Handles the end of the rank's process. Returns how it broke the rules of MPI, if it did.
  std::optional<MpiFault> Ended(int local_rank, const ProcessEnd& end);

  // Return what MpiRanks says.
  bool HasJoined(int local_rank) const { return mpi_.HasJoined(local_rank); }
  bool active() const { return mpi_.active(); }
  bool AllHaveLeft() const { return mpi_.AllHaveLeft(); }

  // Returns when Warn() is due, else infinite future.
  absl::Time next_warning() const { return std::min(mpi_.next_warning(), next_look_); }
  Effects Warn(absl::Time now, const std::string& missing_elsewhere = "");
  // Returns for which ranks of this node others wait, for the users of other nodes; "" if PMIx does
  // not tell.
  std::string DescribeMissing() const;

 private:
  // A fence of ranks of several nodes.
  struct FenceOfNodes {
    void* ticket;
    std::vector<int> nodes;
    std::string data;  // what this node contributes
  };

  void Serve(const Request& request, int local_rank, absl::Time now);
  void Init(const Request& request, int local_rank, absl::Time now);
  void Fence(const Request& request, absl::Time now);
  void Modex(const Request& request);
  std::vector<int> NodesOf(const std::vector<int>& ranks) const;
  void NoteWaiting(const std::vector<int>& ranks, absl::Time now);
  bool IsHere(int local_rank) const { return local_rank >= 0 && local_rank < mpi_.local_size(); }
  // Returns -1 for a rank of a node before this one, or for what is no rank.
  int LocalRank(int rank) const { return rank < world_.first_rank ? -1 : rank - world_.first_rank; }
  void Reply(void* ticket, bool accepted, std::string data = "");
  Effects TakeEffects();

  const World world_;
  MpiRanks mpi_;
  std::vector<bool> ended_;  // by local rank: its process
  std::set<void*> held_;     // tickets of fences that cannot end
  // By the exchange. The first is in progress. Ranks that do not wait may have begun more.
  std::map<std::string, std::deque<FenceOfNodes>> exchanges_;
  std::multimap<int, void*>
      asked_;  // tickets, by the rank of another node whose data are asked for
  absl::Time next_look_ = absl::InfiniteFuture();
  Effects effects_;  // of the current call
};

}  // namespace muster::launcher::pmix

#endif  // MUSTER_CLIENT_LAUNCHER_PMIX_ENGINE_H_
