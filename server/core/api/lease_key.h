#ifndef MUSTER_SERVER_CORE_API_LEASE_KEY_H_
#define MUSTER_SERVER_CORE_API_LEASE_KEY_H_

#include <string>
#include <tuple>

#include "server/core/api/basic_types.h"

namespace muster::core {

// The key of leased work: its scope, its node (empty for a job's lease) and its name.
struct LeaseKey {
  LeaseScope scope = LeaseScope::kNode;
  std::string node_id;
  std::string name;
  friend bool operator<(const LeaseKey& a, const LeaseKey& b) {
    return std::tie(a.scope, a.node_id, a.name) < std::tie(b.scope, b.node_id, b.name);
  }
};

// An order of pointers to keys by the keys, so that nothing depends on addresses.
struct ByKey {
  bool operator()(const LeaseKey* a, const LeaseKey* b) const { return *a < *b; }
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_API_LEASE_KEY_H_
