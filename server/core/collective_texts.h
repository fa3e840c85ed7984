#ifndef MUSTER_SERVER_CORE_COLLECTIVE_TEXTS_H_
#define MUSTER_SERVER_CORE_COLLECTIVE_TEXTS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "server/core/requests.h"

namespace muster::core {

// Texts about a group's collectives that many of its ranks ask for at once. Each is made once.
class CollectiveTexts {
 public:
  // "Barrier('x') op 3 of the world", of a call that arrives. `group` describes the group.
  std::shared_ptr<const std::string> Describe(const CollectiveRequest& request,
                                              const std::string& group);

  // Returns what `make` says of the ranks that are absent from this collective, made once for all
  // that ask at one time. Thousands of waits may end together, and a rank whose wait ended at that
  // time is not among the absent yet.
  const std::string& DescribeAbsence(Time now, uint64_t sequence,
                                     absl::FunctionRef<std::string()> make);
  // A rank has arrived, so other ranks are absent now.
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
  std::array<Absence, 2> absences_;  // from the current collective and from the past one
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_COLLECTIVE_TEXTS_H_
