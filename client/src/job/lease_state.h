#ifndef MUSTER_CLIENT_SRC_JOB_LEASE_STATE_H_
#define MUSTER_CLIENT_SRC_JOB_LEASE_STATE_H_

#include <memory>
#include <string>

#include "client/src/control_plane/control_plane.h"
#include "muster/lease.h"

namespace muster {

struct Lease::State {
  ~State();  // gives up an open lease

  std::shared_ptr<internal::ControlPlane> control;
  std::string name;
  LeaseScope scope = LeaseScope::kNode;
  internal::LeaseOutcome outcome;
  bool open = false;      // held, and without a published outcome
  bool answered = false;  // whether the program called Complete() or Fail(), even without success
};

}  // namespace muster

#endif  // MUSTER_CLIENT_SRC_JOB_LEASE_STATE_H_
