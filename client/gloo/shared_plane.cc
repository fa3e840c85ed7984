#include "client/gloo/shared_plane.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/environment/variables.h"
#include "client/src/job/rank_names.h"

namespace muster::internal {
namespace {

constexpr char kVariable[] = "MUSTER_GLOO_SHARED_MEMORY";

// Tells collectives apart that differ in anything that ranks must agree on.
uint64_t TagOf(const Operation& operation) { return operation.number << 32 | operation.Tag(); }

size_t BytesOf(const Operation& operation) { return operation.count * SizeOf(operation.type); }

Reduction ReductionOf(const Operation& operation) { return {operation.type, operation.op}; }

absl::Status NotShared(absl::string_view why) { return absl::FailedPreconditionError(why); }

}  // namespace

absl::StatusOr<bool> MayShareMemory() {
  const Variables variables = ProcessVariables();
  VariableReader reader(variables);
  bool share = true;
  reader.Read(kVariable, &share);
  if (!reader.status().ok()) return reader.status();
  return share;
}

absl::StatusOr<std::string> SharedMemoryFor(const Group& group,
                                            const std::vector<GlooPeerInfo>& infos) {
  if (group.size() > StepBoard::kMaxRanks) {
    return NotShared(absl::StrCat("they are more than ", StepBoard::kMaxRanks));
  }
  for (int rank = 0; rank < group.size(); ++rank) {
    if (infos[rank].shared_memory().empty()) {
      return NotShared(absl::StrCat(DescribePeer(group, rank), " has ", kVariable, "=0"));
    }
    if (infos[rank].boot_id().empty() || infos[rank].boot_id() != infos[0].boot_id()) {
      return NotShared(absl::StrCat(DescribePeer(group, rank), " is on another machine than ",
                                    DescribePeer(group, 0)));
    }
  }
  return infos[0].shared_memory();
}

SharedPlane::SharedPlane(std::unique_ptr<SharedRegion> region, int rank, int ranks,
                         Interruptor* interruptor, std::function<void()> patrol)
    : region_(std::move(region)),
      interruptor_(interruptor),
      patrol_(std::move(patrol)),
      ranks_(ranks),
      collectives_(region_->data(), rank, ranks, [this](bool slept) {
        if (slept) patrol_();
        return interruptor_->raised();
      }) {
  interruptor_->Add(this);
}

SharedPlane::~SharedPlane() { interruptor_->Remove(this); }

void SharedPlane::AllReduce(const Operation& operation, const void* in, void* out) {
  collectives_.AllReduce(TagOf(operation), in, out, BytesOf(operation), ReductionOf(operation));
}

void SharedPlane::Reduce(const Operation& operation, const void* in, void* out) {
  collectives_.Reduce(TagOf(operation), in, out, BytesOf(operation), ReductionOf(operation),
                      operation.peer);
}

void SharedPlane::Broadcast(const Operation& operation, void* data) {
  collectives_.Broadcast(TagOf(operation), data, BytesOf(operation), operation.peer);
}

void SharedPlane::AllGather(const Operation& operation, const void* in, void* out) {
  const std::vector<size_t> parts(ranks_, BytesOf(operation));
  collectives_.AllGather(TagOf(operation), in, parts, out);
}

void SharedPlane::AllGatherUneven(const Operation& operation, const void* in,
                                  absl::Span<const size_t> counts, void* out) {
  std::vector<size_t> parts;
  for (const size_t count : counts) parts.push_back(count * SizeOf(operation.type));
  collectives_.AllGather(TagOf(operation), in, parts, out);
}

void SharedPlane::ReduceScatter(const Operation& operation, const void* in, void* out) {
  collectives_.ReduceScatter(TagOf(operation), in, out, BytesOf(operation), ReductionOf(operation));
}

void SharedPlane::Barrier(const Operation& operation) { collectives_.Barrier(TagOf(operation)); }

}  // namespace muster::internal
