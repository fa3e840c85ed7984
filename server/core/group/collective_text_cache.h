#ifndef MUSTER_SERVER_CORE_GROUP_COLLECTIVE_TEXT_CACHE_H_
#define MUSTER_SERVER_CORE_GROUP_COLLECTIVE_TEXT_CACHE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "server/core/api/requests.h"

namespace muster::core {

// A cache of texts about a group's collectives that many ranks ask for at once. Each text is made
// once.
class CollectiveTextCache {
 public:
  // Describes the call of a request: "Barrier('x') op 3 of the world". `group` describes the group.
  std::shared_ptr<const std::string> Describe(const CollectiveRequest& request,
                                              const std::string& group);

  // Returns the text that `make` makes about the ranks that are absent from this collective. It is
  // made once for all calls with the same `now`: thousands of waits may end together. So a rank
  // whose wait ends at the same time is not listed as absent.
  const std::string& DescribeAbsence(Time now, uint64_t sequence,
                                     absl::FunctionRef<std::string()> make);
  // Drops the texts about absent ranks, because a rank has arrived.
  void ForgetAbsence();

 private:
  struct DescribedCall {
    Operation operation;
    uint64_t sequence = 0;
    std::shared_ptr<const std::string> text;
  };
  struct Absence {
    Time at = absl::InfinitePast();
    uint64_t sequence = 0;
    std::string text;
  };

  DescribedCall latest_call_;
  std::array<Absence, 2> absences_;  // for the current collective and for the past one
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_GROUP_COLLECTIVE_TEXT_CACHE_H_
