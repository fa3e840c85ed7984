#include "client/gloo/operation.h"

#include <vector>

#include "absl/strings/str_cat.h"

namespace muster::internal {
namespace {

std::string ElementsOf(const Operation& operation) {
  return absl::StrCat(operation.count, " ", NameOf(operation.type));
}

std::string WithoutNumber(const Operation& operation) {
  const std::string elements = ElementsOf(operation);
  const std::string op = absl::StrCat(" (", NameOf(operation.op), ")");
  switch (operation.kind) {
    case OperationKind::kAllReduce:
      return absl::StrCat("AllReduce of ", elements, op);
    case OperationKind::kBroadcast:
      return absl::StrCat("Broadcast of ", elements, " from rank ", operation.peer);
    case OperationKind::kReduce:
      return absl::StrCat("Reduce of ", elements, op, " to rank ", operation.peer);
    case OperationKind::kAllGather:
      return absl::StrCat("AllGather of ", elements, " per rank");
    case OperationKind::kReduceScatter:
      return absl::StrCat("ReduceScatter of ", elements, op, " per rank");
    case OperationKind::kSend:
      return absl::StrCat("Send of ", elements, " to rank ", operation.peer);
    case OperationKind::kRecv:
      return absl::StrCat("Recv of ", elements, " from rank ", operation.peer);
    case OperationKind::kSendRecv:
      return absl::StrCat("SendRecv of ", elements, " to rank ", operation.peer, " and of ",
                          operation.received, " from rank ", operation.from);
    case OperationKind::kAllToAll:
      return absl::StrCat("AllToAll of ", elements, " for each rank");
    case OperationKind::kAllGatherUneven:
      return absl::StrCat("AllGather of ", elements, " from all ranks together");
    case OperationKind::kBarrier:
      return "Barrier";
    case OperationKind::kMeeting:
      return "creating the communicator";
  }
  return "";
}

bool IsMessage(OperationKind kind) {
  return kind == OperationKind::kSend || kind == OperationKind::kRecv ||
         kind == OperationKind::kSendRecv;
}

bool IsReduction(OperationKind kind) {
  return kind == OperationKind::kAllReduce || kind == OperationKind::kReduce ||
         kind == OperationKind::kReduceScatter;
}

// FNV-1a.
uint32_t Hash(absl::Span<const uint64_t> values) {
  uint32_t hash = 2166136261u;
  for (uint64_t value : values) {
    for (int byte = 0; byte < 8; ++byte) {
      hash = (hash ^ static_cast<uint8_t>(value >> (8 * byte))) * 16777619u;
    }
  }
  return hash;
}

}  // namespace

std::string Operation::Describe() const {
  if (kind == OperationKind::kMeeting) return WithoutNumber(*this);
  return absl::StrCat(WithoutNumber(*this), IsMessage(kind) ? ", message " : ", collective ",
                      number);
}

uint32_t Operation::Tag() const {
  // The two ends of a message call it differently and name different peers.
  const OperationKind named = kind == OperationKind::kRecv ? OperationKind::kSend : kind;
  return Hash({static_cast<uint64_t>(named), count, static_cast<uint64_t>(type),
               IsReduction(kind) ? static_cast<uint64_t>(op) : 0,
               IsMessage(kind) ? 0 : static_cast<uint64_t>(peer), number, sizes});
}

uint64_t HashOf(absl::Span<const size_t> sizes) {
  return Hash(std::vector<uint64_t>(sizes.begin(), sizes.end()));
}

}  // namespace muster::internal
