#ifndef MUSTER_SERVER_CORE_GROUP_ARRIVAL_H_
#define MUSTER_SERVER_CORE_GROUP_ARRIVAL_H_

#include <cstdint>
#include <string>

#include "server/core/api/requests.h"

namespace muster::core {

// The call of one rank at one sequence number of its group. The first send fixes the content. The
// waiter comes and goes with each send.
struct Arrival : Operation {
  bool sent = false;    // whether the content is fixed
  Time at;              // when the first send came, if `sent`
  WaiterId waiter = 0;  // the parked call, or 0
  uint64_t attempt = 0;
  // sends under lower attempts do not count, whether they have come or not
  uint64_t withdrawn_below = 0;
  std::string call_site;
  Bytes payload;

  void Record(WaiterId waiter, const CollectiveRequest& request);

  // Returns whether the request has the content of the first send.
  bool IsRepeatedBy(const CollectiveRequest& request) const;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_GROUP_ARRIVAL_H_
