#ifndef MUSTER_CLIENT_SRC_JOB_GROUP_STATE_H_
#define MUSTER_CLIENT_SRC_JOB_GROUP_STATE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "client/src/control_plane/control_plane.h"
#include "client/src/job/block_preventions.h"

namespace muster::internal {

// What a Group handle points to.
struct GroupState {
  std::shared_ptr<ControlPlane> control;
  std::string name;
  std::vector<int> ranks;  // of the world too
  int rank = 0;            // the caller's index in `ranks`
  // The next good number of a NumberedGroup of this one. One call at a time asks.
  std::atomic<uint64_t> next_number{0};
  std::atomic<uint64_t> communicators{0};  // that this process has created for it
  // Null: no scope of muster/scopes.h can be open.
  std::shared_ptr<const BlockPreventions> block_preventions;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_JOB_GROUP_STATE_H_
