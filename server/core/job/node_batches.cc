#include "server/core/job/node_batches.h"

#include <algorithm>
#include <utility>

#include "server/core/api/validation.h"

namespace muster::core {
namespace {

// Returns whether the end of one part says nothing about the collective. The part was sent again or
// given up, its wait is over, or its session has ended.
bool IsQuiet(const absl::Status& status) {
  return absl::IsCancelled(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsUnavailable(status);
}

// Keeps the answer with payloads. In a Gather, only the root's answer has any.
void Keep(CollectiveAnswer answer, CollectiveAnswer* kept) {
  if (kept->payloads == nullptr || kept->payloads->empty()) *kept = std::move(answer);
}

}  // namespace

void NodeBatches::Add(WaiterId call, size_t parts) {
  static_assert(kMaxNodeParts <= size_t{1} << kPartBits);
  Batch& batch = batches_[call];
  batch.open = parts;
  batch.answer.completed.reserve(parts);
}

void NodeBatches::End(WaiterId part, const absl::Status& status, Answer answer) {
  const WaiterId call = (part & ~(WaiterId{1} << 63)) >> kPartBits;
  const auto found = batches_.find(call);
  if (found == batches_.end()) return;
  Batch& batch = found->second;
  --batch.open;
  if (status.ok()) {
    batch.answer.completed.push_back(static_cast<uint32_t>(part % (WaiterId{1} << kPartBits)));
    Keep(std::get<CollectiveAnswer>(std::move(answer)), &batch.answer.answer);
  }
  if (batch.done || (IsQuiet(status) && batch.open > 0)) return;
  batch.done = true;
  done_.push_back(call);
}

std::vector<NodeBatches::Done> NodeBatches::TakeDone() {
  std::vector<Done> done;
  if (done_.empty()) return done;
  for (const WaiterId call : std::exchange(done_, {})) {
    auto batch = batches_.extract(call);
    if (batch.empty()) continue;  // forgotten in the same step
    NodeAnswer& answer = batch.mapped().answer;
    std::sort(answer.completed.begin(), answer.completed.end());
    done.push_back({call, std::move(answer)});
  }
  return done;
}

}  // namespace muster::core
