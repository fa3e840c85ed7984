#ifndef MUSTER_SERVER_CORE_ARRIVAL_H_
#define MUSTER_SERVER_CORE_ARRIVAL_H_

#include <cstdint>
#include <optional>
#include <string>

#include "server/core/requests.h"

namespace muster::core {

// What one rank called at one sequence number of its group. The content is fixed by the first send;
// the waiter comes and goes.
struct Arrival {
  bool sent = false;    // the content is fixed
  WaiterId waiter = 0;  // parked, if not 0
  uint64_t attempt = 0;
  uint64_t withdrawn_below = 0;  // sends under lower attempts do not count, sent already or not
  CollectiveKind kind = CollectiveKind::kBarrier;
  uint32_t root = 0;
  std::string label;
  std::string type_name;
  std::optional<uint64_t> payload_size;
  std::string call_site;
  Bytes payload;

  void Record(WaiterId waiter, const CollectiveRequest& request);

  // Whether two ranks called the same thing: all but payload and call site.
  bool SameCall(const Arrival& other) const;
  // Whether a retry repeats the first send.
  bool IsRepeatedBy(const CollectiveRequest& request) const;
  // "Barrier('epoch 1')", "Broadcast(root 0, int64)".
  std::string Describe() const;
};

// Describe() of what a request calls.
std::string OperationOf(const CollectiveRequest& request);

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_ARRIVAL_H_
