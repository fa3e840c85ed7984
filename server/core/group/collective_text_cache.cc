#include "server/core/group/collective_text_cache.h"

#include "common/names/operation_names.h"
#include "server/core/api/describe.h"

namespace muster::core {

std::shared_ptr<const std::string> CollectiveTextCache::Describe(const CollectiveRequest& request,
                                                                 const std::string& group) {
  DescribedCall& last = latest_call_;
  if (last.text == nullptr || last.sequence != request.sequence ||
      !SameOperation(last.operation, request)) {
    last = {request, request.sequence,
            std::make_shared<const std::string>(
                muster::DescribeStep(DescribeOperation(request), request.sequence, group))};
  }
  return last.text;
}

const std::string& CollectiveTextCache::DescribeAbsence(Time now, uint64_t sequence,
                                                        absl::FunctionRef<std::string()> make) {
  Absence& absence = absences_[sequence % absences_.size()];
  if (absence.at != now || absence.sequence != sequence) absence = {now, sequence, make()};
  return absence.text;
}

void CollectiveTextCache::ForgetAbsence() {
  for (Absence& absence : absences_) absence.at = absl::InfinitePast();
}

}  // namespace muster::core
