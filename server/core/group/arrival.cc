#include "server/core/group/arrival.h"

namespace muster::core {

void Arrival::Record(WaiterId by, const CollectiveRequest& request) {
  Operation::operator=(request);
  sent = true;
  waiter = by;
  attempt = request.call.attempt;
  call_site = request.call_site;
  payload = request.payload;
}

bool Arrival::IsRepeatedBy(const CollectiveRequest& request) const {
  return SameOperation(*this, request) && (payload == nullptr || *payload == *request.payload);
}

}  // namespace muster::core
