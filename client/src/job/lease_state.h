#ifndef MUSTER_CLIENT_SRC_JOB_LEASE_STATE_H_
#define MUSTER_CLIENT_SRC_JOB_LEASE_STATE_H_

#include <memory>
#include <string>

#include "client/src/control_plane/control_plane.h"
#include "muster/lease.h"

namespace muster {

struct Lease::State {
  ~State();  // gives an open lease up

  std::shared_ptr<internal::ControlPlane> control;
  std::string name;
  LeaseScope scope = LeaseScope::kNode;
  internal::LeaseOutcome outcome;
  bool open = false;      // held, and its outcome is not published yet
  bool answered = false;  // the program has called Complete() or Fail(), whatever came of it
};

}  // namespace muster

#endif  // MUSTER_CLIENT_SRC_JOB_LEASE_STATE_H_
