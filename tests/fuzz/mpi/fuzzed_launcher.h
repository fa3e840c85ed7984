#ifndef MUSTER_TESTS_FUZZ_MPI_FUZZED_LAUNCHER_H_
#define MUSTER_TESTS_FUZZ_MPI_FUZZED_LAUNCHER_H_

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/launcher/outcome/process_end.h"
#include "client/launcher/outcome/run_outcome.h"
#include "client/launcher/pmi/mpi_ranks.h"
#include "client/launcher/pmi/world_nodes.h"
#include "tests/fuzz/mpi/mpi_world.h"
#include "tests/fuzz/mpi/promise.h"
#include "tests/fuzz/mpi/world_store.h"

namespace muster::fuzz {

// Ends of processes.
inline constexpr launcher::ProcessEnd kClean = {false, 0};
inline constexpr launcher::ProcessEnd kCrashed = {true, 11};
inline constexpr launcher::ProcessEnd kKilled = {true, 9};

// The launcher of one node of an MPI world: pmi::WorldNodes, and what WorldLink, the MPI server,
// RankRecovery and Supervisor do around it, without processes and I/O. A subclass has the engine of
// a protocol, and the programs of the ranks.
class FuzzedLauncher {
 public:
  // `world` must outlive this object.
  FuzzedLauncher(MpiWorld* world, int node);
  virtual ~FuzzedLauncher() = default;
  FuzzedLauncher(const FuzzedLauncher&) = delete;
  FuzzedLauncher& operator=(const FuzzedLauncher&) = delete;

  // ---- Steps that the input chooses ----

  // Lets a rank's program do something.
  virtual void StepRank(int local_rank) = 0;
  // Reads the next event of the store.
  void Read(bool skips);
  void RepeatEvent();
  // Hears of one more client of the store that is lost or has left.
  void HearOfClient();
  // Does what is due now.
  virtual void Warn() = 0;
  // Ends a process that has to end, if there is one.
  bool EndOne();
  // The launcher's process is killed, and those of its ranks.
  void Kill();
  // Ends the launcher if it has nothing more to do.
  bool ExitIfDone();

  // Takes the next step that needs no choice of the input: the launcher reads an event of the
  // store, hears of a lost client, ends a process, lets a rank go on, or exits. Returns false if
  // none of these is left to do.
  bool Settle();
  // Requires that nobody waits, and what must hold of the end of the run.
  void CheckEnd() const;

  bool joined() const { return nodes_.joined(); }
  bool killed() const { return killed_; }
  bool exited() const { return exited_; }
  // Returns whether the launcher has a cause to end its ranks.
  bool over() const { return !cause_.empty(); }
  bool alive(int local_rank) const { return alive_[local_rank]; }
  // Returns whether the launcher will have no more to say in this world.
  bool gone() const { return killed_ || exited_; }

 protected:
  // ---- What the engine does ----

  virtual std::optional<launcher::MpiFault> EngineEnded(int local_rank,
                                                        const launcher::ProcessEnd& end) = 0;
  virtual void OnFormed(const std::string& name) = 0;
  virtual void OnExchanged(const std::string& exchange, const std::vector<std::string>& parts) = 0;
  virtual void OnAsked(int /*rank*/) {}
  virtual void OnAnswered(int /*rank*/, const std::optional<std::string>& /*data*/) {}
  virtual void OnBroken(const std::string& why) = 0;
  virtual void OnExit() {}

  // ---- Programs ----

  // Lets a rank that is alive do what is bound to happen. Returns false if there is nothing.
  virtual bool SettleRank(int local_rank) = 0;
  // Returns whether an honest rank's program has done its part.
  virtual bool IsDone(int local_rank) const = 0;

  // ---- For subclasses ----

  void Carry(launcher::pmi::NodesEffects effects);
  void Carry(const launcher::MpiEffect& effect);
  // Does what is due now, with the engine of the protocol. `carry_out` takes the engine's effects.
  template <class Engine, class CarryOut>
  void WarnBy(Engine* engine, CarryOut carry_out) {
    const absl::Time now = world_->now;
    if (gone() || over()) return;
    if (now < std::min(engine->next_warning(), nodes_.next_report())) return;
    if (linked()) Carry(nodes_.Report(engine->DescribeMissing(), now));
    carry_out(engine->Warn(now, linked() ? nodes_.DescribeMissing() : ""));
    Require(engine->next_warning() > now && nodes_.next_report() > now, "what was due is done");
  }
  // The rank's process has ended.
  void End(int local_rank, const launcher::ProcessEnd& end);
  void JoinOrLeave(bool active, bool all_have_left);
  // Returns whether it was ended on the way.
  bool IsExpelled(int local_rank) const { return expelled_[local_rank]; }

  void Log(const std::string& what) const { world_->Log(node_, what); }
  MpiWorld& world() const { return *world_; }
  int node() const { return node_; }
  int size() const { return world_->sizes[node_]; }
  int Number(int local_rank) const { return world_->first_rank(node_) + local_rank; }
  bool honest(int local_rank) const { return world_->honest[Number(local_rank)]; }
  std::string node_name() const;
  bool linked() const { return world_->node_count() > 1; }
  launcher::pmi::WorldNodes& nodes() { return nodes_; }
  const launcher::pmi::WorldNodes& nodes() const { return nodes_; }

 private:
  void Join();
  void Take(const WorldStore::Change& change);
  void EndWorld(const launcher::RankEnd& end);
  void NoteCause(const std::string& cause);
  bool MayWait() const;

  MpiWorld* const world_;
  const int node_;
  const std::string token_;
  const std::string client_;
  launcher::pmi::WorldNodes nodes_;
  std::optional<WorldWatch> watch_;  // unset before Join()
  size_t clients_heard_of_ = 0;
  std::vector<bool> alive_;     // by local rank: the process
  std::vector<bool> expelled_;  // by local rank
  bool broken_ = false;
  bool killed_ = false;
  bool exited_ = false;
  std::string cause_;
};

}  // namespace muster::fuzz

#endif  // MUSTER_TESTS_FUZZ_MPI_FUZZED_LAUNCHER_H_
