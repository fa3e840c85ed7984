#ifndef MUSTER_SERVER_CORE_ARRIVAL_H_
#define MUSTER_SERVER_CORE_ARRIVAL_H_

#include <cstdint>
#include <string>

#include "server/core/requests.h"

namespace muster::core {

// What one rank called at one sequence number of its group. The content is fixed by the first send;
// the waiter comes and goes.
struct Arrival : Operation {
  bool sent = false;    // the content is fixed
  Time at;              // where it was sent: when that first came
  WaiterId waiter = 0;  // parked, if not 0
  uint64_t attempt = 0;
  uint64_t withdrawn_below = 0;  // sends under lower attempts do not count, sent already or not
  std::string call_site;
  Bytes payload;

  void Record(WaiterId waiter, const CollectiveRequest& request);

  // Whether a retry repeats the first send.
  bool IsRepeatedBy(const CollectiveRequest& request) const;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_ARRIVAL_H_
