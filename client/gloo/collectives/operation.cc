#include "client/gloo/collectives/operation.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "common/text/fnv1a.h"

namespace muster::internal {
namespace {

std::string ElementsOf(const Operation& operation) {
  return absl::StrCat(operation.count, " ", NameOf(operation.type));
}

std::string DescribeUnnumbered(const Operation& operation) {
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
    case OperationKind::kExchange:
      return operation.exchange;
    case OperationKind::kAllToAll:
      return absl::StrCat("AllToAll of ", elements, " for each rank");
    case OperationKind::kAllGatherUneven:
      return absl::StrCat("AllGather of ", elements, " from all ranks together");
    case OperationKind::kBarrier:
      return "Barrier";
    case OperationKind::kCreation:
      return "creating the communicator";
  }
  return "";
}

bool IsReduction(OperationKind kind) {
  return kind == OperationKind::kAllReduce || kind == OperationKind::kReduce ||
         kind == OperationKind::kReduceScatter;
}

uint32_t Hash(absl::Span<const uint64_t> values) {
  return Fnv1a32(values.data(), values.size() * sizeof(uint64_t));
}

}  // namespace

std::string Operation::Describe() const {
  const std::string name = DescribeUnnumbered(*this);
  const bool numbered = kind != OperationKind::kCreation && kind != OperationKind::kExchange;
  return numbered ? absl::StrCat(name, ", collective ", number) : name;
}

uint32_t Operation::Tag() const {
  return Hash({static_cast<uint64_t>(kind), count, static_cast<uint64_t>(type),
               IsReduction(kind) ? static_cast<uint64_t>(op) : 0, static_cast<uint64_t>(peer),
               number, sizes});
}

uint32_t NumberedMessage::Tag() const {
  return Hash({message.count, static_cast<uint64_t>(message.type), number});
}

uint64_t HashOf(absl::Span<const size_t> sizes) {
  return Hash(std::vector<uint64_t>(sizes.begin(), sizes.end()));
}

}  // namespace muster::internal
