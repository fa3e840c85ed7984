#ifndef MUSTER_CLIENT_LAUNCHER_WORLD_LINK_H_
#define MUSTER_CLIENT_LAUNCHER_WORLD_LINK_H_

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/launcher/job_store_client.h"
#include "client/launcher/plan/job_plan.h"
#include "client/launcher/pmi/world_nodes.h"
#include "client/launcher/process/event_loop.h"
#include "client/launcher/process/event_queue.h"
#include "muster/group.h"
#include "muster/v1/store.pb.h"

namespace muster::launcher {

// Carries what the nodes of an MPI world tell each other through the job's store.
// pmi::WorldNodes decides; this class sets keys, and watches those of the other nodes. Each world
// has keys below a prefix of its own, "mpi/1/". Use it only if the job has several nodes. Call it
// from one thread.
class WorldLink {
 public:
  struct Handlers {
    std::function<void(const std::string& name)> on_formed;
    std::function<void(const std::string& exchange, const std::vector<std::string>& parts)>
        on_exchanged;
    std::function<void(int rank)> on_asked;
    std::function<void(int rank, const std::optional<std::string>& data)> on_answered;
    std::function<void(const pmi::WorldEnd& end)> on_ended;
    std::function<void(const std::string& why)> on_broken;
  };

  // All pointers must outlive this object. `handlers` are called from the loop, and from Begin()
  // and Ask().
  WorldLink(const JobPlan* plan, JobStoreClient* client, EventLoop* loop, Handlers handlers);
  ~WorldLink();
  WorldLink(const WorldLink&) = delete;
  WorldLink& operator=(const WorldLink&) = delete;

  // Begins a new world, whose nodes tell each other nothing before Join(). The keys of the one
  // before are removed once all nodes are in this one. `name` is WorldShape::name. Call it before
  // the calls below.
  void BeginWorld(const std::string& name = "-");
  // Returns the number of the next world, equal on all nodes. It is the current one's as long as
  // this node is not in that: the others cannot have gone on without it.
  int next_generation() const;

  // Do what WorldNodes says. The first Join() connects the client of the store; others do nothing.
  void Join();
  bool joined() const { return nodes_->joined(); }
  void Leave();
  void Begin(const std::string& exchange, std::vector<int> nodes, std::string part);
  void Ask(int rank);
  void Answer(int rank, const std::optional<std::string>& data);
  void End(const pmi::WorldEnd& end);
  // Ends the next world, for which the other nodes start their ranks again.
  void RefuseRestart(const std::string& why, const std::string& name = "-");
  std::string DescribeMissing() const { return nodes_->DescribeMissing(); }
  absl::Time next_report() const { return nodes_->next_report(); }
  void Report(const std::string& missing);

  const pmi::WorldShape& shape() const { return shape_; }

  // Blocks until the coordinator has answered all changes, for at most five seconds.
  void Flush();

 private:
  // A key of another node, or of this one, has changed.
  struct KeyChanged {
    std::string key;
    std::optional<std::string> value;  // unset: it was deleted
  };
  // A change by this node was answered, or the watch has ended: then with an error.
  struct Answered {
    absl::Status status;
  };
  // Another client of the store is lost or has left.
  struct ClientLost {
    std::string client;
  };
  using Event = std::variant<KeyChanged, Answered, ClientLost>;

  void Watch();
  void TakeEvents();
  void Carry(pmi::NodesEffects effects);
  void Carry(const pmi::NodesEffect& effect);
  void Change(v1::StoreOperation operation);
  void Set(const std::string& key, const std::string& value);
  void Delete(const std::string& key);
  // Notes that the store cannot be used. MPI fails when it next needs it.
  void NoteError(const absl::Status& status);
  void BreakIfNeeded();

  const JobPlan& plan_;
  JobStoreClient* const client_;
  EventLoop* const loop_;
  const Handlers handlers_;
  int generation_ = 0;  // the number of the world
  std::string prefix_;
  pmi::WorldShape shape_;
  std::unique_ptr<pmi::WorldNodes> nodes_;
  // Events from the store's threads, whose callbacks share it, and may outlive this object. Null
  // before Join().
  std::shared_ptr<EventQueue<Event>> inbox_;
  Subscription watch_;
  std::set<std::string> own_keys_;  // that this node has set
  std::set<std::string> old_keys_;  // in earlier worlds
  int unanswered_ = 0;              // changes
  absl::Status error_;
  bool told_broken_ = false;
  std::set<std::string> exchanges_;  // in progress
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_WORLD_LINK_H_
