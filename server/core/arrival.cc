#include "server/core/arrival.h"

#include "server/core/describe.h"

namespace muster::core {

void Arrival::Record(WaiterId by, const CollectiveRequest& request) {
  sent = true;
  waiter = by;
  attempt = request.call.attempt;
  kind = request.kind;
  root = request.root;
  label = request.label;
  type_name = request.type_name;
  payload_size = request.payload_size;
  call_site = request.call_site;
  payload = request.payload;
}

bool Arrival::SameCall(const Arrival& other) const {
  return kind == other.kind && root == other.root && label == other.label &&
         type_name == other.type_name && payload_size == other.payload_size;
}

bool Arrival::IsRepeatedBy(const CollectiveRequest& request) const {
  return kind == request.kind && root == request.root && label == request.label &&
         type_name == request.type_name && payload_size == request.payload_size &&
         (payload == nullptr || *payload == *request.payload);
}

std::string Arrival::Describe() const {
  return Operation(kind, root, label, type_name, payload_size);
}

std::string OperationOf(const CollectiveRequest& request) {
  return Operation(request.kind, request.root, request.label, request.type_name,
                   request.payload_size);
}

}  // namespace muster::core
