#include "client/src/protocol/node_completion.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "muster/v1/coordinator.pb.h"

namespace muster::internal {
namespace {

using Payloads = std::vector<const std::string*>;

// Returns the payloads in the order of the group's ranks, or nullopt if a rank has no part.
std::optional<Payloads> InOrder(const std::vector<int>& group_ranks,
                                const std::vector<int>& node_ranks,
                                const std::vector<TakenPart>& parts) {
  if (parts.size() != group_ranks.size()) return std::nullopt;
  Payloads payloads(group_ranks.size());
  for (const TakenPart& part : parts) {
    if (part.member >= node_ranks.size()) return std::nullopt;
    const auto rank = std::find(group_ranks.begin(), group_ranks.end(), node_ranks[part.member]);
    if (rank == group_ranks.end()) return std::nullopt;
    payloads[rank - group_ranks.begin()] = &part.contribution.payload;
  }
  const bool complete = std::count(payloads.begin(), payloads.end(), nullptr) == 0;
  return complete ? std::make_optional(std::move(payloads)) : std::nullopt;
}

// Returns whether the coordinator would accept this payload of the rank at `index`.
bool IsAcceptable(const CollectiveCall& call, size_t index, const std::string& payload) {
  const bool sends =
      call.kind != CollectiveKind::kBroadcast || index == static_cast<size_t>(call.root);
  if (!sends) return payload.empty();
  return !call.payload_size || *call.payload_size == payload.size();
}

}  // namespace

std::optional<Delivery> CompleteOnNode(const std::vector<int>& group_ranks,
                                       const std::vector<int>& node_ranks,
                                       const CollectiveCall& call,
                                       const std::vector<TakenPart>& parts, bool stop_requested) {
  const std::optional<Payloads> payloads = InOrder(group_ranks, node_ranks, parts);
  if (!payloads || call.root < 0 || static_cast<size_t>(call.root) >= payloads->size()) {
    return std::nullopt;
  }
  v1::NodeCollectiveResponse answer;
  answer.set_stop_requested(stop_requested);
  size_t bytes = 0;
  for (size_t index = 0; index < payloads->size(); ++index) {
    const std::string& payload = *(*payloads)[index];
    if (!IsAcceptable(call, index, payload)) return std::nullopt;
    if (call.kind == CollectiveKind::kBarrier) continue;
    if (call.kind == CollectiveKind::kBroadcast && index != static_cast<size_t>(call.root)) {
      continue;
    }
    answer.add_payloads(payload);
    bytes += payload.size();
  }
  if (bytes > MaxFanInAnswerBytes(node_ranks.size())) return std::nullopt;
  Delivery delivery;
  for (uint32_t part = 0; part < parts.size(); ++part) delivery.completed.push_back(part);
  delivery.answer = answer.SerializeAsString();
  delivery.on_node = true;
  return delivery;
}

}  // namespace muster::internal
