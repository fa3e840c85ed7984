#ifndef MUSTER_SERVER_CORE_FORMATION_H_
#define MUSTER_SERVER_CORE_FORMATION_H_

#include <cstdint>
#include <string>

namespace muster::core {

// Who is there when an epoch might form.
struct FormationInput {
  uint32_t places = 0;     // 0: not known yet
  uint32_t minimum = 0;    // 0: the job is not elastic, every place must be filled
  uint32_t survivors = 0;  // members of the epoch before that have come
  uint32_t awaited = 0;    // members of it that have neither come nor been lost
  uint32_t newcomers = 0;
  uint32_t previous_size = 0;         // of the epoch before; 0: there was none
  bool previous_rank_0_came = false;  // as one of the survivors
  bool settled = false;               // nothing has changed for the settle time
};

struct FormationDecision {
  bool form = false;
  std::string reason;      // why, or why not yet
  bool unsettled = false;  // there are enough, and only the settle time is not over
};

// An epoch forms when all places are filled, or with at least the minimum once nothing changes any
// more. Unless all places are filled it needs more than half of the epoch before, or half with its
// rank 0, so that two daemons cannot both go on. Survivors that may still come keep their places.
FormationDecision DecideFormation(const FormationInput& in);

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_FORMATION_H_
