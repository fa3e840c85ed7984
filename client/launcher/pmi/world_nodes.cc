#include "client/launcher/pmi/world_nodes.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/launcher/outcome/rank_ranges.h"
#include "common/text/fnv1a.h"
#include "common/text/utf8.h"

namespace muster::launcher::pmi {
namespace {

constexpr size_t kMostDescribed = 3;      // nodes, in one message
constexpr size_t kMostShownBytes = 4096;  // of a text of another node

// Returns a text of another node, for a message. Any client of the store may have set it.
std::string Printable(absl::string_view text) {
  return ReplaceUnprintable(TruncateUtf8(text, kMostShownBytes));
}

// Cuts the text up to the first separator off, and returns it.
absl::string_view TakeWord(absl::string_view* text, char separator) {
  const size_t length = std::min(text->find(separator), text->size());
  const absl::string_view word = text->substr(0, length);
  text->remove_prefix(std::min(length + 1, text->size()));
  return word;
}

constexpr char kAllNodes[] = "*";
constexpr char kRestarts[] = "restarts";

bool Contains(absl::string_view word_of_nodes, int node) {
  if (word_of_nodes == kAllNodes) return true;
  const std::vector<std::string> nodes = absl::StrSplit(word_of_nodes, ',');
  return std::find(nodes.begin(), nodes.end(), absl::StrCat(node)) != nodes.end();
}

}  // namespace

int WorldShape::first_rank(int of_node) const {
  return std::accumulate(ranks_of_nodes.begin(), ranks_of_nodes.begin() + of_node, 0);
}

int WorldShape::NodeOf(int rank) const {
  for (int i = 0, first = 0; i < node_count(); first += ranks_of_nodes[i++]) {
    if (rank >= first && rank < first + ranks_of_nodes[i]) return i;
  }
  return -1;
}

WorldNodes::WorldNodes(WorldShape shape) : shape_(std::move(shape)), nodes_(shape_.node_count()) {
  nodes_[shape_.node].token = shape_.token;
  nodes_[shape_.node].name = shape_.node_name;
}

NodesEffects WorldNodes::Join(const std::string& client) {
  joined_ = true;
  effects_.push_back(
      SetKey{absl::StrCat("node/", shape_.node),
             absl::StrCat(shape_.token, " ", absl::StrJoin(shape_.ranks_of_nodes, ","), " ",
                          shape_.name, " ", client, " ", shape_.node_name)});
  if (early_end_) return End(*early_end_);
  return Settle(std::nullopt);
}

// ---- Keys of other nodes ----

NodesEffects WorldNodes::Receive(const std::string& key, const std::optional<std::string>& value,
                                 absl::Time now) {
  absl::string_view rest = key;
  const absl::string_view kind = TakeWord(&rest, '/');
  int node = 0;
  if (over_ || !value || !absl::SimpleAtoi(TakeWord(&rest, '/'), &node)) return {};
  if (node < 0 || node >= shape_.node_count()) return {};
  if (kind == "end") ReceiveEnd(node, *value);
  if (over_ || ending_) return Settle(now);
  if (kind == "node") ReceiveNode(node, *value);
  if (kind == "ask" && node == shape_.node) ReceiveQuestion(rest);
  if (kind == "lost" && node == shape_.node) ReceiveLoss(rest);
  if (node != shape_.node) {
    if (kind == "view") nodes_[node].view = *value;
    if (kind == "part") ReceivePart(node, rest, *value);
    if (kind == "left") nodes_[node].left |= *value == nodes_[node].token;
    if (kind == "wait") nodes_[node].waits_for = Printable(*value);
    if (kind == "data") ReceiveData(node, rest, *value);
  }
  return Settle(now);
}

void WorldNodes::ReceiveNode(int node, const std::string& value) {
  absl::string_view rest = value;
  const std::string token(TakeWord(&rest, ' '));
  const std::string ranks(TakeWord(&rest, ' '));
  const std::string name(TakeWord(&rest, ' '));
  const std::string client(TakeWord(&rest, ' '));
  const std::string node_name = Printable(rest);
  if (node == shape_.node) {
    // An older value may be left of a launcher that was killed.
    if (token != shape_.token && own_token_seen_) {
      Break(absl::StrCat("another muster run has --node-rank ", node,
                         ", too; give each node a number of its own"));
    }
    own_token_seen_ |= token == shape_.token;
    return;
  }
  if (nodes_[node].token == token || lost_clients_.count(client) != 0) return;
  if (formed_ || has_exchanged_) {
    return Break(absl::StrCat("muster run on node ", node_name,
                              " was started again, and a new process cannot take its place in MPI; "
                              "start it again on all nodes"));
  }
  nodes_[node] = Node();
  nodes_[node].token = token;
  nodes_[node].name = node_name;
  nodes_[node].client = client;
  view_.clear();
  if (name != shape_.name) {
    return Break(absl::StrCat(
        "node ", node_name, " calls this world ", Printable(name), ", and this one ", shape_.name,
        "; give --coordinator, --job and --pmi the same values on all nodes"));
  }
  if (ranks != absl::StrJoin(shape_.ranks_of_nodes, ",")) {
    Break(absl::StrCat("the nodes have ", Printable(ranks), " ranks by the flags of node ",
                       node_name, ", and ", absl::StrJoin(shape_.ranks_of_nodes, ","),
                       " by those of this one; give --nnodes and --nproc-per-node the same values "
                       "on all nodes"));
  }
}

void WorldNodes::ReceivePart(int node, absl::string_view rest, const std::string& value) {
  const std::string name(TakeWord(&rest, '/'));
  uint64_t number = 0;
  size_t chunk = 0;
  if (!absl::SimpleAtoi(TakeWord(&rest, '/'), &number) || !absl::SimpleAtoi(rest, &chunk)) return;
  Exchange& exchange = exchanges_[name];
  if (number <= exchange.ended) return;
  absl::string_view bytes = value;
  absl::string_view head = TakeWord(&bytes, '\n');
  const std::string view(TakeWord(&head, ' '));
  const absl::string_view chunk_count = TakeWord(&head, ' ');
  if (!Contains(head, shape_.node)) return;  // of an exchange between other nodes
  Part& part = exchange.parts[number][node];
  if (part.view != view) part = {view, 0, {}};
  if (absl::SimpleAtoi(chunk_count, &part.chunk_count)) part.chunks[chunk] = std::string(bytes);
  if (!part.whole() || part.view != view_) exchange.complete = 0;  // it may have been complete
}

void WorldNodes::ReceiveEnd(int node, const std::string& value) {
  absl::string_view rest = value;
  const absl::string_view token = TakeWord(&rest, ' ');
  absl::string_view line = TakeWord(&rest, '\n');
  const absl::string_view how = TakeWord(&line, ' ');
  // A node that refuses a restart sets this key and "node" before the others look, and they see
  // them in any order. It knows the world before, unlike an earlier launcher, whose keys do not
  // count.
  const bool was_in_previous = !line.empty() && line == shape_.previous;
  if (token != nodes_[node].token && !was_in_previous) return;
  over_ = true;
  if (node == shape_.node) return;  // keys change in the same order for all nodes
  WorldEnd end = {Printable(rest), std::nullopt, how == kRestarts};
  if (int code = 0; absl::SimpleAtoi(how, &code)) end.abort_code = code;
  effects_.push_back(WorldEnded{std::move(end)});
}

NodesEffects WorldNodes::LoseClient(const std::string& client) {
  lost_clients_.insert(client);
  for (int i = 0; i < shape_.node_count(); ++i) {
    if (i == shape_.node || nodes_[i].client != client) continue;
    effects_.push_back(SetKey{absl::StrCat("lost/", shape_.node, "/", client), shape_.token});
  }
  return Settle(std::nullopt);
}

void WorldNodes::ReceiveLoss(absl::string_view client) {
  for (int i = 0; i < shape_.node_count(); ++i) {
    Node& node = nodes_[i];
    if (i == shape_.node || over_ || node.client != client) continue;
    if (node.left) {
      node.gone = true;
      AnswerForGoneNode(i);
      continue;
    }
    if (!formed_) {
      node = Node();  // another launcher may come
      continue;
    }
    over_ = true;
    effects_.push_back(WorldEnded{{absl::StrCat(
        "muster run on node ", node.name,
        " is lost: the process or its machine has ended, or cannot reach the coordinator")}});
  }
}

NodesEffects WorldNodes::Leave() {
  if (!joined_ || over_ || ending_ || std::exchange(left_, true)) return {};
  effects_.push_back(SetKey{absl::StrCat("left/", shape_.node), shape_.token});
  return Settle(std::nullopt);
}

// ---- Exchanges ----

NodesEffects WorldNodes::Begin(const std::string& exchange, std::vector<int> nodes,
                               std::string part) {
  Exchange& begun = exchanges_[exchange];
  begun.open = true;
  begun.nodes = std::move(nodes);
  begun.part = std::move(part);
  begun.published.clear();
  return Settle(std::nullopt);
}

NodesEffects WorldNodes::Settle(std::optional<absl::Time> now) {
  if (joined_ && !over_ && !ending_) Form();
  for (auto& [name, exchange] : exchanges_) {
    if (over_ || ending_ || view_.empty() || !exchange.open) continue;
    if (exchange.published != view_) Publish(name, &exchange);
    EndIfComplete(name, &exchange);
    if (exchange.open) BreakIfLeft(exchange);
  }
  if (!IsAwaited()) {
    next_report_ = absl::InfiniteFuture();
    reported_.clear();
  } else if (now && next_report_ == absl::InfiniteFuture()) {
    next_report_ = *now + kWaitInterval;
  }
  return std::exchange(effects_, {});
}

void WorldNodes::Form() {
  if (view_.empty()) LookAround();
  if (view_.empty() || formed_) return;
  for (int i = 0; i < shape_.node_count(); ++i) {
    if (i != shape_.node && nodes_[i].view != view_) return;
  }
  formed_ = true;
  effects_.push_back(WorldFormed{nodes_[0].token});
}

void WorldNodes::LookAround() {
  std::string tokens;
  for (const Node& node : nodes_) {
    if (node.token.empty()) return;
    absl::StrAppend(&tokens, node.token, " ");
  }
  view_ = absl::StrCat(absl::Hex(Fnv1a64(tokens), absl::kZeroPad16));
  effects_.push_back(SetKey{absl::StrCat("view/", shape_.node), view_});
}

void WorldNodes::Publish(const std::string& name, Exchange* exchange) {
  exchange->published = view_;
  exchange->complete = 0;
  const bool all = exchange->nodes.size() == nodes_.size();
  const std::string nodes = all ? kAllNodes : absl::StrJoin(exchange->nodes, ",");
  exchange->chunk_count =
      std::max<size_t>((exchange->part.size() + kChunkBytes - 1) / kChunkBytes, 1);
  for (size_t i = 0; i < exchange->chunk_count; ++i) {
    effects_.push_back(SetKey{
        absl::StrCat("part/", shape_.node, "/", name, "/", exchange->ended + 1, "/", i),
        absl::StrCat(view_, " ", exchange->chunk_count, " ", nodes, "\n",
                     absl::string_view(exchange->part).substr(i * kChunkBytes, kChunkBytes))});
  }
}

const WorldNodes::Part* WorldNodes::PartOf(int node, const Exchange& exchange) const {
  const auto parts = exchange.parts.find(exchange.ended + 1);
  if (parts == exchange.parts.end()) return nullptr;
  const auto found = parts->second.find(node);
  if (found == parts->second.end()) return nullptr;
  return found->second.whole() && found->second.view == view_ ? &found->second : nullptr;
}

void WorldNodes::EndIfComplete(const std::string& name, Exchange* exchange) {
  for (; exchange->complete < exchange->nodes.size(); ++exchange->complete) {
    const int node = exchange->nodes[exchange->complete];
    if (node != shape_.node && PartOf(node, *exchange) == nullptr) return;
  }
  ExchangeEnded ended = {name, {}};
  for (const int node : exchange->nodes) {
    if (node == shape_.node) continue;
    std::string& bytes = ended.parts.emplace_back();
    for (const auto& [number, chunk] : PartOf(node, *exchange)->chunks) bytes += chunk;
  }
  exchange->open = false;
  exchange->part.clear();
  has_exchanged_ = true;
  // All its nodes have begun this one, so they have read the one before.
  DeleteParts(name, exchange->ended,
              std::exchange(exchange->old_chunk_count, exchange->chunk_count));
  ++exchange->ended;
  exchange->parts.erase(exchange->parts.begin(), exchange->parts.upper_bound(exchange->ended));
  for (Node& node : nodes_) node.waits_for.clear();
  effects_.push_back(std::move(ended));
}

void WorldNodes::BreakIfLeft(const Exchange& exchange) {
  for (const int node : exchange.nodes) {
    if (!nodes_[node].left || PartOf(node, exchange) != nullptr) continue;
    const bool one = shape_.ranks_of_nodes[node] == 1;
    return Break(absl::StrCat(Describe(node), one ? " has" : " have",
                              " left MPI without a barrier in which ranks of this node wait for ",
                              one ? "it" : "them"));
  }
}

void WorldNodes::DeleteParts(const std::string& name, uint64_t number, size_t chunk_count) {
  for (size_t i = 0; i < chunk_count; ++i) {
    effects_.push_back(
        DeleteKey{absl::StrCat("part/", shape_.node, "/", name, "/", number, "/", i)});
  }
}

// ---- The data of one rank ----

NodesEffects WorldNodes::Ask(int rank) {
  const int node = shape_.NodeOf(rank);
  if (over_ || ending_ || node < 0 || node == shape_.node || nodes_[node].gone) {
    effects_.push_back(RankAnswered{rank, std::nullopt});
  } else if (asked_.insert(rank).second) {
    effects_.push_back(SetKey{absl::StrCat("ask/", node, "/", rank), shape_.token});
  }
  return Settle(std::nullopt);
}

void WorldNodes::AnswerForGoneNode(int node) {
  for (auto rank = asked_.begin(); rank != asked_.end();) {
    if (shape_.NodeOf(*rank) != node) {
      ++rank;
      continue;
    }
    effects_.push_back(RankAnswered{*rank, std::nullopt});
    rank = asked_.erase(rank);
  }
}

void WorldNodes::ReceiveQuestion(absl::string_view rest) {
  int rank = 0;
  if (!absl::SimpleAtoi(rest, &rank) || shape_.NodeOf(rank) != shape_.node) return;
  effects_.push_back(RankAsked{rank});
}

NodesEffects WorldNodes::Answer(int rank, const std::optional<std::string>& data) {
  effects_.push_back(
      SetKey{absl::StrCat("data/", shape_.node, "/", rank),
             absl::StrCat(shape_.token, data ? " found\n" : " none\n", data.value_or(""))});
  return Settle(std::nullopt);
}

void WorldNodes::ReceiveData(int node, absl::string_view rest, absl::string_view value) {
  int rank = 0;
  const absl::string_view token = TakeWord(&value, ' ');
  const absl::string_view found = TakeWord(&value, '\n');
  if (!absl::SimpleAtoi(rest, &rank) || token != nodes_[node].token || asked_.erase(rank) == 0) {
    return;
  }
  effects_.push_back(
      RankAnswered{rank, found == "found" ? std::optional<std::string>(value) : std::nullopt});
}

// ---- The end ----

NodesEffects WorldNodes::End(const WorldEnd& end) {
  if (!joined_) {
    if (!early_end_) early_end_ = end;
    return {};
  }
  if (over_ || std::exchange(ending_, true)) return {};
  const std::string how = end.restarts     ? kRestarts
                          : end.abort_code ? absl::StrCat(*end.abort_code)
                                           : "-";
  effects_.push_back(
      SetKey{absl::StrCat("end/", shape_.node),
             absl::StrCat(shape_.token, " ", how, " ", shape_.previous, "\n", end.why)});
  return Settle(std::nullopt);
}

void WorldNodes::Break(std::string why) {
  if (std::exchange(over_, true)) return;
  effects_.push_back(WorldBroken{std::move(why)});
}

// ---- Waits ----

bool WorldNodes::IsAwaited() const {
  for (const auto& [name, exchange] : exchanges_) {
    if (!exchange.open && !exchange.parts.empty()) return !over_ && !ending_;
  }
  return false;
}

NodesEffects WorldNodes::Report(const std::string& missing, absl::Time now) {
  if (now < next_report_) return {};
  next_report_ = now + kWaitInterval;
  if (missing != reported_) {
    reported_ = missing;
    effects_.push_back(SetKey{absl::StrCat("wait/", shape_.node), missing});
  }
  return Settle(now);
}

std::string WorldNodes::Describe(int node) const {
  if (!nodes_[node].waits_for.empty() && !nodes_[node].left) return nodes_[node].waits_for;
  std::vector<int> ranks(shape_.ranks_of_nodes[node]);
  std::iota(ranks.begin(), ranks.end(), shape_.first_rank(node));
  const bool one = ranks.size() == 1;
  if (!nodes_[node].token.empty()) {
    return absl::StrCat(NamedRanks(ranks), " (node ", nodes_[node].name, ")");
  }
  return absl::StrCat(NamedRanks(ranks), " (node number ", node, "), ",
                      one ? "which has not" : "none of which has", " called MPI_Init()");
}

std::string WorldNodes::DescribeMissing() const {
  std::vector<int> missing;
  for (int node = 0; joined_ && node < shape_.node_count(); ++node) {
    const bool has_other_view = !view_.empty() && !formed_ && nodes_[node].view != view_;
    bool is_missing = nodes_[node].token.empty() || (has_other_view && node != shape_.node);
    for (const auto& [name, exchange] : exchanges_) {
      const bool takes_part =
          exchange.open && std::count(exchange.nodes.begin(), exchange.nodes.end(), node) > 0;
      is_missing |= takes_part && node != shape_.node && PartOf(node, exchange) == nullptr;
    }
    if (is_missing) missing.push_back(node);
  }
  std::vector<std::string> texts;
  for (size_t i = 0; i < missing.size() && i < kMostDescribed; ++i) {
    texts.push_back(Describe(missing[i]));
  }
  std::string text = absl::StrJoin(texts, ", and for ");
  if (missing.size() > texts.size()) {
    absl::StrAppend(&text, ", and for ", missing.size() - texts.size(), " more nodes");
  }
  return text;
}

}  // namespace muster::launcher::pmi
