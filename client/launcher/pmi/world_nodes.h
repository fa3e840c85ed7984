#ifndef MUSTER_CLIENT_LAUNCHER_PMI_WORLD_NODES_H_
#define MUSTER_CLIENT_LAUNCHER_PMI_WORLD_NODES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::launcher::pmi {

// An MPI world of several nodes, as one of its launchers sees it.
struct WorldShape {
  int node = 0;                     // the number of this node
  std::vector<int> ranks_of_nodes;  // how many ranks each node has. Their numbers ascend with it
  std::string node_name;            // of this node, for messages
  std::string token;                // random, new for each world of each launcher; no spaces
  // The name of the world, if it has one before its nodes have met; no spaces. Equal on all nodes.
  std::string name = "-";
  // WorldNodes::view() of the world that this one takes the place of; empty if there was none.
  std::string previous = {};

  int node_count() const { return static_cast<int>(ranks_of_nodes.size()); }
  int first_rank(int of_node) const;
  // Returns the node of the rank, or -1 if the world has no such rank.
  int NodeOf(int rank) const;
};

// ---- What the caller of WorldNodes has to do ----

// Set or delete a key of the job's store, below the prefix of this world.
struct SetKey {
  std::string key;
  std::string value;
};
struct DeleteKey {
  std::string key;
};
// All nodes are in the world. `name` is equal on all of them, and no other world has it.
struct WorldFormed {
  std::string name;
};
// An exchange has ended. `parts` are what its nodes have contributed, without this one, in their
// order.
struct ExchangeEnded {
  std::string exchange;
  std::vector<std::string> parts;
};
// A rank of this node is asked for its data: pass them to Answer().
struct RankAsked {
  int rank;
};
// The data of a rank of another node, for which Ask() has asked. Unset: it has none.
struct RankAnswered {
  int rank;
  std::optional<std::string> data;
};
// How a world ends.
struct WorldEnd {
  std::string why;                     // a sentence for the user
  std::optional<int> abort_code = {};  // of MPI_Abort()
  bool restarts = false;               // all ranks of all nodes are started again
};
// The world has ended on another node.
struct WorldEnded {
  WorldEnd end;
};
// This node cannot go on in the world.
struct WorldBroken {
  std::string why;  // a sentence for the user, without a full stop
};
using NodesEffect = std::variant<SetKey, DeleteKey, WorldFormed, ExchangeEnded, RankAsked,
                                 RankAnswered, WorldEnded, WorldBroken>;
using NodesEffects = std::vector<NodesEffect>;

// The part of an MPI world that is between its nodes. They tell each other of it by keys of the
// job's store, which all of them watch. Decides only; its caller does all I/O (WorldLink of
// client/launcher). The keys:
//
//   node/1               the token of node 1's launcher, its flags and its name
//   view/1               the tokens of all launchers, as node 1 sees them
//   part/1/barrier/3/0   the first chunk of what node 1 contributes to the third exchange "barrier"
//   wait/1               for which ranks of node 1 the others wait
//   left/1               all ranks of node 1 have left MPI
//   end/1                why node 1 has ended the world
//   lost/0/1a2b          node 0 has heard that the client 1a2b of the store is lost
//   ask/1/5, data/1/5    node 0 asks for the data of rank 5, which is on node 1; their answer
//
// An exchange is a barrier that carries bytes: it ends when all its nodes have begun it. Exchanges
// of the same name are counted, and a node's parts are deleted once all nodes have read them: when
// the next one of that name has ended.
//
// The store may contain keys of a launcher that was killed before this world, also while it is not
// yet known that this launcher is lost. So each node says which tokens it sees, and each part
// does. The world is formed when all nodes see the same, among them their own, which are new. A
// part counts only for nodes that see the same.
class WorldNodes {
 public:
  // The bytes of a value, without its head.
  static constexpr size_t kChunkBytes = 1 << 20;
  // A node for which others have waited so long says for which of its ranks they wait, and whether
  // that has changed after the same time again.
  static constexpr absl::Duration kWaitInterval = absl::Seconds(5);

  explicit WorldNodes(WorldShape shape);
  WorldNodes(const WorldNodes&) = delete;
  WorldNodes& operator=(const WorldNodes&) = delete;

  // Enters the world. `client` names this launcher as a client of the store; no spaces. Call it
  // once, before the calls below.
  NodesEffects Join(const std::string& client);
  bool joined() const { return joined_; }
  bool formed() const { return formed_; }
  // Returns what only the nodes of this world know: from the tokens of all. Empty before they have
  // come.
  const std::string& view() const { return view_; }
  // Returns whether it is known on which node the world ended first, if it has.
  bool settled() const { return !ending_ || over_; }

  // Handles what a key below the prefix has become; unset: it was deleted. `now` is SteadyNow(),
  // here and below.
  NodesEffects Receive(const std::string& key, const std::optional<std::string>& value,
                       absl::Time now);

  // Handles that a launcher is lost, or has left. If its ranks were in MPI, the world has ended.
  // What it has told before may still be on the way. So this node sets a key, whose event comes
  // after that.
  NodesEffects LoseClient(const std::string& client);
  // Tells the other nodes that all ranks of this node have left MPI, for good.
  NodesEffects Leave();

  // Begins an exchange between these nodes, this one among them. `exchange` has no slash. At most
  // one of a name may be in progress.
  NodesEffects Begin(const std::string& exchange, std::vector<int> nodes, std::string part);

  // Asks for the data of a rank of another node.
  NodesEffects Ask(int rank);
  // Answers RankAsked.
  NodesEffects Answer(int rank, const std::optional<std::string>& data);

  // Tells the other nodes that the world has ended here: at once, or when this node enters it.
  // WorldEnded follows if another one has said so before.
  NodesEffects End(const WorldEnd& end);

  // Returns for which ranks of other nodes this node waits, for the user; "" if for none.
  std::string DescribeMissing() const;
  // Returns when the other nodes should be told for which ranks of this node they wait; else
  // infinite future. `missing` is empty if it is not known.
  absl::Time next_report() const { return next_report_; }
  NodesEffects Report(const std::string& missing, absl::Time now);

 private:
  // The contribution of a node to an exchange, as far as it has come.
  struct Part {
    std::string view;
    size_t chunk_count = 0;
    std::map<size_t, std::string> chunks;

    bool whole() const { return chunk_count > 0 && chunks.size() == chunk_count; }
  };
  struct Node {
    std::string token;  // empty: it has not come
    std::string name;
    std::string client;     // its launcher's
    std::string view;       // the tokens that it sees
    bool left = false;      // its ranks have left MPI
    bool gone = false;      // and then its launcher has ended
    std::string waits_for;  // its ranks for which others wait
  };
  struct Exchange {
    uint64_t ended = 0;  // how many have
    bool open = false;   // another one is in progress
    std::vector<int> nodes;
    std::string part;  // of this node
    // By the number of the exchange, and the node.
    std::map<uint64_t, std::map<int, Part>> parts;
    size_t complete = 0;    // of `nodes`, so many from the first on have whole parts
    std::string published;  // the view with which it was published; empty: it was not
    size_t chunk_count = 0;
    size_t old_chunk_count = 0;  // of the one before
  };

  void ReceiveNode(int node, const std::string& value);
  void ReceivePart(int node, absl::string_view rest, const std::string& value);
  void ReceiveEnd(int node, const std::string& value);
  void ReceiveLoss(absl::string_view client);
  // Answers the questions for data of this node's ranks. Nobody else will.
  void AnswerForGoneNode(int node);
  void ReceiveQuestion(absl::string_view rest);
  void ReceiveData(int node, absl::string_view rest, absl::string_view value);
  // Does what has become due after an input.
  NodesEffects Settle(std::optional<absl::Time> now);
  void Form();
  // Notes the tokens of all nodes, once they have come.
  void LookAround();
  void Publish(const std::string& name, Exchange* exchange);
  // Returns the node's part in the exchange that is in progress, if it is whole and of this view.
  const Part* PartOf(int node, const Exchange& exchange) const;
  void EndIfComplete(const std::string& name, Exchange* exchange);
  // Breaks the world if all ranks of a node have left MPI without the exchange.
  void BreakIfLeft(const Exchange& exchange);
  void DeleteParts(const std::string& name, uint64_t number, size_t chunk_count);
  bool IsAwaited() const;
  std::string Describe(int node) const;
  void Break(std::string why);

  const WorldShape shape_;
  std::vector<Node> nodes_;
  std::map<std::string, Exchange> exchanges_;
  std::set<int> asked_;  // ranks of other nodes, whose data have not come
  std::set<std::string> lost_clients_;
  bool joined_ = false;
  bool left_ = false;
  bool formed_ = false;
  std::string view_;                   // the tokens of all nodes; empty until they have come
  bool has_exchanged_ = false;         // an exchange has ended
  bool ending_ = false;                // End() was called
  std::optional<WorldEnd> early_end_;  // End() was called before Join()
  bool over_ = false;                  // WorldEnded, WorldBroken, or it ended here first
  bool own_token_seen_ = false;
  std::string reported_;
  absl::Time next_report_ = absl::InfiniteFuture();
  NodesEffects effects_;  // of the current call
};

}  // namespace muster::launcher::pmi

#endif  // MUSTER_CLIENT_LAUNCHER_PMI_WORLD_NODES_H_
