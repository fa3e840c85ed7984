#ifndef MUSTER_SERVER_CORE_FORMATION_FORMATION_H_
#define MUSTER_SERVER_CORE_FORMATION_FORMATION_H_

#include <cstdint>
#include <string>

namespace muster::core {

// The counts from which the formation of an epoch is decided.
struct FormationInput {
  uint32_t places = 0;     // 0: not known yet
  uint32_t minimum = 0;    // 0: the job is not elastic, so every place must be filled
  uint32_t survivors = 0;  // members of the previous epoch that have come
  uint32_t awaited = 0;    // members of it that have neither come nor been lost
  uint32_t newcomers = 0;
  uint32_t previous_size = 0;         // of the previous epoch; 0: there was none
  bool previous_rank_0_came = false;  // as one of the survivors
  bool settled = false;               // nothing has changed for the settle time
};

struct FormationDecision {
  bool form = false;
  std::string reason;      // why it forms, or why not yet
  bool unsettled = false;  // there are enough, and only the settle time is not over
};

// Decides whether an epoch forms: when all places are filled, or with at least the minimum once
// nothing has changed for the settle time. Unless all places are filled, it needs a majority: more
// than half of the previous epoch, or half with its rank 0. So two daemons cannot both continue the
// job. Survivors that may still come keep their places.
FormationDecision DecideFormation(const FormationInput& in);

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_FORMATION_FORMATION_H_
