#include "client/launcher/plan/node_name.h"

#include <unistd.h>

namespace muster::launcher {

std::string NodeNameOf(const JobPlan& plan) {
  if (!plan.node_id.empty()) return plan.node_id;
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "unknown";
}

}  // namespace muster::launcher
