#include "examples/allreduce/work.h"

#include <algorithm>

namespace allreduce {

namespace {

// Returns whether one of a rank's buffers has a part for each rank.
bool HasParts(Collective collective) {
  return collective == Collective::kAllGather || collective == Collective::kReduceScatter;
}

}  // namespace

absl::string_view NameOf(Collective collective) {
  switch (collective) {
    case Collective::kAllReduce:
      return "all_reduce";
    case Collective::kBroadcast:
      return "broadcast";
    case Collective::kReduce:
      return "reduce";
    case Collective::kAllGather:
      return "all_gather";
    case Collective::kReduceScatter:
      return "reduce_scatter";
    case Collective::kSendRecv:
      return "sendrecv";
  }
  return "";
}

bool Reduces(Collective collective) {
  return collective == Collective::kAllReduce || collective == Collective::kReduce ||
         collective == Collective::kReduceScatter;
}

Work WorkOfBytes(Work work, size_t bytes) {
  const size_t parts = HasParts(work.collective) ? work.ranks : 1;
  work.count = std::max<size_t>(1, bytes / SizeOf(work.type) / parts);
  return work;
}

size_t InCount(const Work& work) {
  return work.collective == Collective::kReduceScatter ? work.count * work.ranks : work.count;
}

size_t OutCount(const Work& work) {
  return work.collective == Collective::kAllGather ? work.count * work.ranks : work.count;
}

size_t Bytes(const Work& work) {
  return std::max(InCount(work), OutCount(work)) * SizeOf(work.type);
}

double BusFactor(const Work& work) {
  const double n = work.ranks;
  switch (work.collective) {
    case Collective::kAllReduce:
      return 2 * (n - 1) / n;
    case Collective::kAllGather:
    case Collective::kReduceScatter:
      return (n - 1) / n;
    case Collective::kBroadcast:
    case Collective::kReduce:
    case Collective::kSendRecv:
      return 1;
  }
  return 1;
}

}  // namespace allreduce
